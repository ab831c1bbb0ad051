// The part of the port that keeps awaits (W-1 … W-10). Owners' writes open units, as `awaits`.

import type { CallKey, ExecutionId, InteractionId, ProjectName } from '../../execution/names.ts';
import type { AwaitRefusal } from '../../execution/refusal.ts';
import type { Audited } from '../audit/model.ts';
import type { Count } from '../overview/model.ts';
import type { AnswerRequest } from './decide.ts';
import type { Answer, AwaitUnit, DuePlace, Interaction } from './model.ts';

export interface AwaitStore {
  /** The answer wins, repeats the winner, is kept for later, or is refused (W-2 … W-7). */
  answer(request: AnswerRequest & Audited): Promise<AnswerTaken>;
  /** Takes several answers in one transaction, each as `answer` does (W-16). */
  answerAll(requests: readonly (AnswerRequest & Audited)[]): Promise<readonly AnswerTaken[]>;
  /** Settles overdue units and starts due reminders, for one execution or for all (W-6). */
  expireAwaits(request: ExpireAwaits): Promise<AwaitsExpired>;
  extendAwait(request: ExtendAwait): Promise<AwaitResult>;
  assignAwait(request: AssignAwait): Promise<AwaitResult>;
  cancelAwait(request: AwaitCommand): Promise<AwaitResult>;
  interaction(query: ReadInteraction): Promise<InteractionFound | undefined>;
  /** The question that has this correlation (W-14). */
  idOfCorrelation(query: ReadCorrelation): Promise<InteractionId | undefined>;
  /** Newest first. */
  interactions(query: ListInteractions): Promise<readonly InteractionFound[]>;
  /** The id down to which one page should look, as `deadLettersEdge` returns it. */
  interactionsEdge(query: ListInteractions): Promise<InteractionId | undefined>;
  /** Open ones, the next one due first. Those without a time limit come last, the oldest first. */
  dueInteractions(query: ListDue): Promise<DuePage>;
  /** Counts open ones, up to 10,000. */
  countInteractions(query: FilterOpen): Promise<Count>;
  /** Late answers, oldest first. */
  lateAnswers(query: ReadInteraction): Promise<readonly Answer[]>;
}

export type AnswerTaken =
  | {
      /** `kept`: the answer is early (W-2). `existing`: the store already has it. */
      readonly kind: 'answered' | 'kept' | 'existing';
      /** The answer settled its unit. */
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
  /** The time until the next await of any execution is due. */
  readonly nextInMs?: number;
}

export interface AwaitCommand extends Audited {
  readonly project: ProjectName;
  /** Any interaction of the unit. */
  readonly id: InteractionId;
}

export interface ExtendAwait extends AwaitCommand {
  /** Counts from now; absent removes the limit. */
  readonly dueInMs?: number;
}

export interface AssignAwait extends AwaitCommand {
  /** Absent removes the assignee. */
  readonly assignee?: string;
}

/** The result of an operation on an interaction: `done`, or `refused` with the reason `why`. */
export type AwaitResult = { readonly kind: 'done' } | ({ readonly kind: 'refused' } & AwaitRefusal);

export interface ReadInteraction {
  readonly project: ProjectName;
  readonly id: InteractionId;
}

export interface ReadCorrelation {
  readonly project: ProjectName;
  readonly correlation: string;
}

export interface InteractionFound {
  readonly interaction: Interaction;
  /** Undefined for an early answer. */
  readonly unit: AwaitUnit | undefined;
}

/** Selects open interactions. All filters must match. */
export interface FilterOpen {
  readonly project: ProjectName;
  readonly assignee?: string;
  readonly name?: string;
}

export interface ListDue extends FilterOpen {
  /** Continues after this place. */
  readonly after?: DuePlace;
  readonly limit: number;
}

export interface DuePage {
  readonly items: readonly InteractionFound[];
  /** More may follow after this place. */
  readonly next?: DuePlace;
}

export interface ListInteractions {
  readonly project: ProjectName;
  readonly open?: boolean;
  /** Only those that wait for a slot (W-17). */
  readonly queued?: true;
  readonly execution?: ExecutionId;
  readonly call?: CallKey;
  readonly assignee?: string;
  readonly name?: string;
  /** Continues below this id. */
  readonly before?: InteractionId;
  /** Ends with this id. */
  readonly downTo?: InteractionId;
  readonly limit: number;
}
