// The part of the port that removes ended executions and keeps the archive's index (F-1 … F-8).

import type { TerminalStatus } from '../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { ArchivedExecution, Removable, RemoveRequest, WhyKept } from './model.ts';

export interface RetentionStore {
  /**
   * A page of executions by id: those that ended long enough ago and that nothing refers to (F-2,
   * F-8).
   */
  removable(query: ListRemovable): Promise<RemovablePage>;
  /** Removes everything of it at once, if it is still in the requested state (F-4). */
  remove(request: RemoveRequest): Promise<Removal>;
  archived(id: ExecutionId): Promise<ArchivedExecution | undefined>;
  /** Where one page of a list with several filters ends, if there are many rows (F-7). */
  archivedEdge(query: ListArchived): Promise<ArchivedPlace | undefined>;
  /** Sorted by end, newest first (F-7). */
  listArchived(query: ListArchived): Promise<readonly ArchivedExecution[]>;
}

export interface ListRemovable {
  /** Only this project. */
  readonly project?: ProjectName;
  /** The time since their end. */
  readonly endedMs: number;
  /** Continues above this id. */
  readonly after?: ExecutionId;
  /** Ends below this id. */
  readonly before?: ExecutionId;
  /** The number of executions to look at. */
  readonly limit: number;
}

export interface RemovablePage {
  readonly items: readonly Removable[];
  /** Store time. */
  readonly now: Instant;
  /** The start of the next page; absent after the last page. */
  readonly next?: ExecutionId;
}

export type Removal =
  | { readonly kind: 'removed' }
  | { readonly kind: 'kept'; readonly why: WhyKept };

/** The position in the list. */
export interface ArchivedPlace {
  readonly endedAt: Instant;
  readonly id: ExecutionId;
}

export interface ListArchived {
  readonly project: ProjectName;
  readonly pipeline?: PipelineName;
  readonly status?: TerminalStatus;
  readonly tag?: string;
  /** All of these are words of its key, in lower case. */
  readonly words?: readonly string[];
  /** Ended at this time or later. */
  readonly from?: Instant;
  /** Ended before this time. */
  readonly to?: Instant;
  /** Continues below this one. */
  readonly before?: ArchivedPlace;
  readonly limit: number;
  /** The last place that the list looks at. */
  readonly downTo?: ArchivedPlace;
}
