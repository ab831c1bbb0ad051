// The part of the port that keeps dead letters, re-drives and the outcomes of bulk jobs (Y-10 … Y-23).

import type { Status } from '../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { CommandRefusal, RedriveRefusal, SubmitRefusal } from '../../execution/refusal.ts';
import type { Instant } from '../../support/clock.ts';
import type { Audited } from '../audit/model.ts';
import type { RedriveRequest } from './decide.ts';
import type { DeadLetterGroup, DeadLetterRecord } from './model.ts';

export interface RepairStore {
  redrive(request: Redrive): Promise<RedriveResult>;
  deadLetter(id: ExecutionId): Promise<DeadLetterRecord | undefined>;
  /** Newest first. */
  deadLetters(query: ListDeadLetters): Promise<readonly DeadLetterRecord[]>;
  /**
   * The id down to which one page should look, if the store checks filters row by row and there are
   * many rows. Undefined if it can look at all of them.
   */
  deadLettersEdge(query: ListDeadLetters): Promise<ExecutionId | undefined>;
  /** Counts the newest 10,000, with the largest groups first. */
  deadLetterGroups(query: GroupDeadLetters): Promise<readonly DeadLetterGroup[]>;
  /** Records an outcome that needs no other write. The first outcome stays. */
  noteJobItem(request: NoteJobItem): Promise<void>;
  /** Sorted by target. */
  jobItems(query: ListJobItems): Promise<readonly JobItem[]>;
  /** How many executions that the job submitted have each status now, of the first 10,000. */
  jobResults(query: { readonly job: ExecutionId }): Promise<JobResults>;
}

export interface Redrive extends RedriveRequest, Audited {
  /** Set if a job requests it (Y-23). */
  readonly job?: ExecutionId;
}

export type RedriveResult =
  /** `existing`: the store already has this id, or the job has already processed this item. */
  | { readonly kind: 'submitted'; readonly id: ExecutionId; readonly existing: boolean }
  | ({ readonly kind: 'refused' } & (CommandRefusal | RedriveRefusal | SubmitRefusal));

export interface GroupDeadLetters {
  readonly project: ProjectName;
  /** Only letters without a re-drive. */
  readonly open?: boolean;
}

export interface ListDeadLetters {
  readonly project: ProjectName;
  readonly pipeline?: PipelineName;
  readonly code?: string;
  readonly step?: string;
  /** Only letters without a re-drive. */
  readonly open?: boolean;
  /** Only letters written by this time. */
  readonly asOf?: Instant;
  /** Continues below this id. */
  readonly before?: ExecutionId;
  /** Ends with this id. */
  readonly downTo?: ExecutionId;
  readonly limit: number;
}

/** The outcome of one item of a bulk job. */
export interface JobItem {
  /** The execution that the job acted on. */
  readonly target: ExecutionId;
  /** `submitted`, `done`, `forwarded`, `repinned`, `no-change`, or the `why` of a refusal. */
  readonly outcome: string;
  /** The execution that a re-drive submitted. */
  readonly made?: ExecutionId;
  /** The status of that execution now. Absent if it was removed. */
  readonly madeStatus?: Status;
  /** When. */
  readonly at: Instant;
}

export type JobResults = Readonly<Partial<Record<Status, number>>>;

export interface NoteJobItem {
  readonly job: ExecutionId;
  readonly target: ExecutionId;
  readonly outcome: string;
}

export interface ListJobItems {
  readonly job: ExecutionId;
  /** Continues after this target. */
  readonly after?: ExecutionId;
  readonly limit: number;
}
