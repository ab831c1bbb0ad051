// The part of the port that keeps awaits (W-1 … W-10). Units are opened by owners' writes (`awaits`).

import type { CallKey, ExecutionId, InteractionId, ProjectName } from '../../execution/names.ts';
import type { AwaitRefusal } from '../../execution/refusal.ts';
import type { Audited } from '../audit/model.ts';
import type { AnswerRequest } from './decide.ts';
import type { Answer, AwaitUnit, Interaction } from './model.ts';

export interface AwaitStore {
  /** Wins, is the same again, is kept for later, or is refused (W-2 … W-7). */
  answer(request: AnswerRequest & Audited): Promise<AnswerTaken>;
  /** Settles what has passed its time and starts what is due: of one execution, or of all (W-6). */
  expireAwaits(request: ExpireAwaits): Promise<AwaitsExpired>;
  extendAwait(request: ExtendAwait): Promise<AwaitAnswer>;
  assignAwait(request: AssignAwait): Promise<AwaitAnswer>;
  cancelAwait(request: AwaitCommand): Promise<AwaitAnswer>;
  interaction(query: ReadInteraction): Promise<InteractionFound | undefined>;
  /** Newest first. */
  interactions(query: ListInteractions): Promise<readonly InteractionFound[]>;
  /** What came too late, oldest first. */
  lateAnswers(query: ReadInteraction): Promise<readonly Answer[]>;
}

export type AnswerTaken =
  | {
      /** `kept`: early (W-2). `existing`: the same was there. */
      readonly kind: 'answered' | 'kept' | 'existing';
      /** It settled its unit. */
      readonly settled: boolean;
    }
  | ({ readonly kind: 'refused' } & AwaitRefusal);

export interface ExpireAwaits {
  readonly execution?: ExecutionId;
  readonly limit: number;
}

export interface AwaitsExpired {
  readonly settled: number;
  readonly started: number;
  readonly more: boolean;
  /** Until something else is due; of all, not of the execution. */
  readonly nextInMs?: number;
}

export interface AwaitCommand extends Audited {
  readonly project: ProjectName;
  /** Of any interaction of the unit. */
  readonly id: InteractionId;
}

interface ExtendAwait extends AwaitCommand {
  /** From now; absent: no limit. */
  readonly dueInMs?: number;
}

interface AssignAwait extends AwaitCommand {
  /** Absent: nobody. */
  readonly assignee?: string;
}

export type AwaitAnswer = { readonly kind: 'done' } | ({ readonly kind: 'refused' } & AwaitRefusal);

export interface ReadInteraction {
  readonly project: ProjectName;
  readonly id: InteractionId;
}

export interface InteractionFound {
  readonly interaction: Interaction;
  /** Undefined for an early answer. */
  readonly unit: AwaitUnit | undefined;
}

export interface ListInteractions {
  readonly project: ProjectName;
  readonly open?: boolean;
  readonly execution?: ExecutionId;
  readonly call?: CallKey;
  readonly assignee?: string;
  readonly name?: string;
  /** Goes on below this id. */
  readonly before?: InteractionId;
  readonly limit: number;
}
