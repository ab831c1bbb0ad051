// The part of the port that lets go of what has ended, and keeps the index of what was archived (F-1 … F-8).

import type { TerminalStatus } from '../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { ArchivedExecution, Removable, RemoveRequest, WhyKept } from './model.ts';

export interface RetentionStore {
  /** A page of executions, by id: those in it that ended so long ago and that nothing refers to (F-2, F-8). */
  removable(query: ListRemovable): Promise<RemovablePage>;
  /** All that there is of it, at once, if it is as it was asked for (F-4). */
  remove(request: RemoveRequest): Promise<Removal>;
  archived(id: ExecutionId): Promise<ArchivedExecution | undefined>;
  /** The last ended first (F-7). */
  listArchived(query: ListArchived): Promise<readonly ArchivedExecution[]>;
}

export interface ListRemovable {
  /** Of this one only. */
  readonly project?: ProjectName;
  /** Since their end. */
  readonly endedMs: number;
  /** Goes on above this id. */
  readonly after?: ExecutionId;
  /** Ends below this id. */
  readonly before?: ExecutionId;
  /** So many are looked at. */
  readonly limit: number;
}

export interface RemovablePage {
  readonly items: readonly Removable[];
  /** Store time. */
  readonly now: Instant;
  /** Where to go on; absent after the last page. */
  readonly next?: ExecutionId;
}

export type Removal =
  | { readonly kind: 'removed' }
  | { readonly kind: 'kept'; readonly why: WhyKept };

/** Where one stands in the order of the list. */
export interface ArchivedPlace {
  readonly endedAt: Instant;
  readonly id: ExecutionId;
}

export interface ListArchived {
  readonly project: ProjectName;
  readonly pipeline?: PipelineName;
  readonly status?: TerminalStatus;
  readonly tag?: string;
  /** All of these are words of its key; in lower case. */
  readonly words?: readonly string[];
  /** Ended at this time or later. */
  readonly from?: Instant;
  /** Ended before this time. */
  readonly to?: Instant;
  /** Goes on below this one. */
  readonly before?: ArchivedPlace;
  readonly limit: number;
}
