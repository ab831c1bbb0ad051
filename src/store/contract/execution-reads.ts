// The reads of the port for executions, and what they return. `execution-store.ts` has its verbs.

import type { ExecutionRecord, Hold, Status, TerminalStatus } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

import type { Attachment, Submit, SubmitResult } from './execution-store.ts';

export interface ExecutionReads {
  /**
   * Returns the result that this submission would get if its id or key is taken. Otherwise
   * undefined.
   */
  submitted(request: Submit): Promise<SubmitResult | undefined>;
  read(id: ExecutionId): Promise<ExecutionRecord | undefined>;
  /** Returns the id of the execution that has the key. A list by key also finds its re-drives. */
  idOfKey(named: NamedByKey): Promise<ExecutionId | undefined>;
  /** Returns the executions among `ids` that exist, in the order of `ids`. */
  readMany(ids: readonly ExecutionId[]): Promise<readonly ExecutionRecord[]>;
  /** Returns how executions ended, for those among `ids` that have ended. */
  outcomes(ids: readonly ExecutionId[]): Promise<readonly Outcome[]>;
  history(query: ReadHistory): Promise<readonly HistoryEvent[]>;
  /**
   * Returns whole histories, in order, while their bodies have at most `bytesMax` bytes together.
   * It omits the rest.
   */
  histories(query: ReadHistories): Promise<readonly FullHistory[]>;
  /** The bytes of the body of each row that `history` or `inbox` would return, in their order. */
  bodySizes(query: ReadBodySizes): Promise<readonly number[]>;
  /** The size of all event bodies together; 0 when the execution does not exist. */
  historyBytes(id: ExecutionId): Promise<number>;
  /**
   * Lists executions. A page examines at most `LIST_ROWS_MAX` rows, or 2,000 if it checks their
   * attributes, and returns where it stopped.
   */
  list(query: ListExecutions): Promise<ExecutionPage>;
  /** Like `list`, for ids only. */
  find(query: ListExecutions): Promise<FoundPage>;
  /**
   * Counts executions, up to `LIST_ROWS_MAX` and one more. Ignores `limit`, and `sort` must be
   * absent. `next` is where the count stopped, if rows are left that it did not examine.
   */
  count(query: ListExecutions): Promise<ListCount>;
  children(query: ListChildren): Promise<readonly ChildSummary[]>;
  attachment(query: ReadAttachment): Promise<Attachment | undefined>;
  /** By name. Returns all by default. */
  attachments(id: ExecutionId, limit?: number): Promise<readonly AttachmentSummary[]>;
  /** Returns the attachments with these names. */
  namedAttachments(query: ReadAttachments): Promise<readonly AttachmentSummary[]>;
}

export interface Outcome {
  readonly id: ExecutionId;
  readonly status: TerminalStatus;
  readonly endedAt: Instant;
  /** The event that ended the execution. */
  readonly event: HistoryEvent;
}

/** A key within its project. */
export interface NamedByKey {
  readonly project: ProjectName;
  readonly key: string;
}

export interface ReadHistory {
  readonly id: ExecutionId;
  readonly after: number;
  readonly limit: number;
}

export interface ReadBodySizes extends ReadHistory {
  readonly of: 'history' | 'inbox';
}

export interface ReadHistories {
  readonly ids: readonly ExecutionId[];
  readonly bytesMax: number;
}

export interface FullHistory {
  readonly id: ExecutionId;
  readonly events: readonly HistoryEvent[];
}

/** All filters must match. */
export interface ListExecutions {
  readonly project: ProjectName;
  readonly status?: readonly Status[];
  /** Without it, the list omits the engine's own pipelines. */
  readonly pipeline?: PipelineName;
  /** Only executions that are pinned to this release, of any pipeline. */
  readonly release?: string;
  readonly tag?: string;
  readonly attributes?: readonly AttributeFilter[];
  readonly hold?: Hold;
  readonly key?: string;
  /** Not with `key`. */
  readonly keyPrefix?: string;
  /** Only executions that this worker runs now: the owner or the id of its session. */
  readonly worker?: string;
  /** True: only running executions whose owner has lapsed, is overdue, or has ended. */
  readonly staleOwner?: boolean;
  /** Only children of this execution. */
  readonly parent?: ExecutionId;
  /** Only executions with a dead letter of this code. */
  readonly code?: string;
  /** Only executions with a dead letter that was re-driven, or was not. */
  readonly redriven?: boolean;
  /** True: only executions without a parent. */
  readonly topLevel?: boolean;
  /** Only executions that ended at or after this time. */
  readonly endedFrom?: Instant;
  /** Only executions that ended before this time. */
  readonly endedTo?: Instant;
  /** Only open executions submitted by this time, and ended ones that ended by it. */
  readonly asOf?: Instant;
  /** Only executions with an id below this one. */
  readonly before?: ExecutionId;
  /** Only executions with this id or one above it. */
  readonly downTo?: ExecutionId;
  /** Default `newest`. */
  readonly sort?: ListSort;
  /** Continues after this position. */
  readonly after?: ListPosition;
  readonly limit: number;
}

/**
 * The order of a list: by id, which begins with the time of the submission, or by end, the last one
 * first and without open executions.
 */
export type ListSort = 'newest' | 'oldest' | 'ended';

/** A place in a list. Only a list by end has the time. */
export interface ListPosition {
  readonly id: ExecutionId;
  readonly endedAt?: Instant;
}

export interface ExecutionPage {
  readonly items: readonly ExecutionRecord[];
  /** Where the next page continues. Absent if nothing is left. */
  readonly next?: ListPosition;
}

export interface FoundPage extends Pick<ExecutionPage, 'next'> {
  readonly ids: readonly ExecutionId[];
}

export interface ListCount extends Pick<ExecutionPage, 'next'> {
  readonly count: number;
}

/** The most rows that a store checks for one page. */
export const LIST_ROWS_MAX = 10_000;

/** Filters executions by a search attribute. */
export interface AttributeFilter {
  /** The name of the attribute. */
  readonly name: string;
  /** The value that it must equal. */
  readonly equals?: string | number | boolean;
  /** The least number. */
  readonly min?: number;
  /** The greatest number. */
  readonly max?: number;
}

export interface ListChildren {
  readonly parent: ExecutionId;
  readonly after?: ExecutionId;
  readonly limit: number;
}

export interface ChildSummary {
  readonly id: ExecutionId;
  readonly pipeline: PipelineName;
  readonly status: Status;
}

export interface ReadAttachment {
  readonly id: ExecutionId;
  readonly name: string;
}

export interface ReadAttachments {
  readonly id: ExecutionId;
  readonly names: readonly string[];
}

/** A file that an execution attached, without its content. */
export interface AttachmentSummary {
  /** The name. */
  readonly name: string;
  /** The media type. */
  readonly type: string;
  /** The size in bytes. */
  readonly bytes: number;
  /** When it was attached. */
  readonly at: Instant;
}
