// The port for executions. Every verb is one transition in one transaction: its guard is in the
// predicate, and it writes the history. Owners pass the fence of their claim. Each verb takes one
// item, but stores batch them (group commit): calls that arrive during a flush go into the next
// one. Ten thousand calls therefore cost a few transactions.
//
// Like the kernel's ports, a store returns unions and throws only these faults:
// - StoreUnavailable: nothing was applied.
// - OutcomeUnknown: the call may have been applied. The caller can repeat it and gets the same
//   answer.
// - StoreCorrupt: a row breaks a rule.
// - StoreSealed: the call writes, and the store is sealed (EX-1).

import type {
  ExecutionRecord,
  Hold,
  Lane,
  Status,
  StepHeartbeat,
  Submission,
  TerminalStatus,
} from '../../execution/execution.ts';
import type { HistoryEvent, InboxMessage, NewEvent } from '../../execution/history.ts';
import type { ExecutionId, Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import type {
  ClaimRefusal,
  CommandRefusal,
  OwnerRefusal,
  SubmitRefusal,
  UnreadRefusal,
} from '../../execution/refusal.ts';
import type { Wakeups } from '../../execution/wakeups.ts';
import type { AccessStore } from '../../features/access/port.ts';
import type { Audited } from '../../features/audit/model.ts';
import type { AuditStore } from '../../features/audit/port.ts';
import type { OpenAwait } from '../../features/awaits/model.ts';
import type { AwaitStore } from '../../features/awaits/port.ts';
import type { SealStore } from '../../features/export/port.ts';
import type { OverviewStore } from '../../features/overview/port.ts';
import type { ReconcileStore } from '../../features/reconcile/port.ts';
import type { ReleaseStore } from '../../features/releases/port.ts';
import type { DeadLetter } from '../../features/repair/model.ts';
import type { RepairStore } from '../../features/repair/port.ts';
import type { RetentionStore } from '../../features/retention/port.ts';
import type { ScheduleStore } from '../../features/schedules/port.ts';
import type { TemplateStore } from '../../features/templates/port.ts';
import type { Fence } from '../../lease/fence.ts';
import type { SessionId } from '../../lease/names.ts';
import type { KernelStore, SessionHost, SessionStore } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import type { CensusStore } from './census-store.ts';
import type { BlobStore, PayloadStore } from './payload-store.ts';

/**
 * An open store that keeps executions besides sessions and leases: memory, SQLite or PostgreSQL.
 */
export interface CoordinatorStore extends KernelStore {
  /** Operations on executions. `Holdfast` calls them for you. */
  readonly executions: ExecutionStore;
  /** Operations on projects and access keys. */
  readonly access: AccessStore;
  /** Operations on the seal of the store. */
  readonly seals: SealStore;
}

export interface ExecutionStore
  extends ExecutionOwning,
    ExecutionCommands,
    ExecutionReads,
    PayloadStore,
    TemplateStore,
    ScheduleStore,
    AwaitStore,
    RepairStore,
    AuditStore,
    ReconcileStore,
    RetentionStore,
    CensusStore,
    OverviewStore,
    ReleaseStore,
    Wakeups {
  /** True if a claim that is called right after a submit joins its transaction. */
  readonly claimsJoinSubmits?: boolean;
}

/**
 * The store interface that a worker needs. A remote coordinator offers this much to its workers. It
 * handles schedules, deadlines, awaits and bulk operations itself.
 */
export interface WorkerStore extends SessionHost, Pick<KernelStore, 'durability' | 'close'> {
  readonly sessions: SessionHost['sessions'] & Pick<SessionStore, 'sweep'>;
  readonly executions: WorkerExecutions;
  /** True if a claim waits for `waitMs`, so that a worker needs no wakeups. */
  readonly claimsWait?: boolean;
}

export interface WorkerExecutions
  extends Omit<ExecutionOwning, 'carried'>,
    Pick<ExecutionReads, 'read' | 'history'>,
    Pick<AwaitStore, 'interaction' | 'expireAwaits'>,
    Pick<ReleaseStore, 'announce'>,
    BlobStore,
    Wakeups {}

/** The verbs of workers. */
export interface ExecutionOwning {
  /** If the answer is lost, the session's next claim returns the same executions again. */
  claim(request: Claim): Promise<ClaimResult>;
  /**
   * Lists the executions that a session runs, as it claimed them, by fence. A worker calls it after
   * it lost an answer.
   */
  carried(query: ReadCarried): Promise<readonly Claimed[]>;
  /**
   * The number of further executions that would raise throughput now. Beyond that, calls only wait
   * longer.
   */
  room(): number;
  /** Appends to the history of a running execution. Its owner keeps it. */
  record(request: OwnerWrite): Promise<Recorded>;
  /** Like `record`, together with the user's own writes in the same transaction. */
  transact<Result>(request: Transact<Result>): Promise<Transacted<Result>>;
  /** Ends the execution for good. */
  finish(request: Finish): Promise<Finished>;
  /** Lets the execution wait for a time, children or messages. It has no owner meanwhile. */
  park(request: Park): Promise<Parked>;
  /**
   * Ends the claim. The execution is queued again, now or later, or blocked until an operator acts.
   */
  giveBack(request: GiveBack): Promise<GivenBack>;
  /** Returns messages after `after`, in order. */
  inbox(query: ReadInbox): Promise<readonly InboxMessage[]>;
}

/** The verbs of all other callers. */
export interface ExecutionCommands {
  submit(request: Submit & Audited): Promise<SubmitResult>;
  /**
   * Like `submit`, within the caller's own transaction, on stores that support it. The execution
   * exists once that transaction commits.
   */
  submitWithin?(client: TransactionClient, request: Submit): Promise<SubmitResult>;
  cancel(request: Cancel): Promise<CommandResult>;
  pause(request: Command): Promise<CommandResult>;
  /** Removes the holds `paused` and `blocked`. */
  resume(request: Command): Promise<CommandResult>;
  signal(request: Signal): Promise<CommandResult>;
  /**
   * Ends executions past their deadline, cancels children of ended parents and deletes unused keys,
   * one page per call.
   */
  maintain(request: Maintain): Promise<Maintained>;
}

export interface ExecutionReads {
  /**
   * Returns the answer that this submission would get if its id or key is taken. Otherwise
   * undefined.
   */
  submitted(request: Submit): Promise<SubmitResult | undefined>;
  read(id: ExecutionId): Promise<ExecutionRecord | undefined>;
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
  attachments(id: ExecutionId): Promise<readonly AttachmentSummary[]>;
}

type Refused<Why> = { readonly kind: 'refused' } & Why;

// Submitting -------------------------------------------------------------------------------------

export interface Submit extends Submission {
  /** The earliest start, in milliseconds from now. */
  readonly delayMs?: number;
  /** The body of the `submitted` event. */
  readonly body?: Payload;
}

export type SubmitResult =
  /** `existing` is true when the same id or key was submitted before with the same intent. */
  | { readonly kind: 'submitted'; readonly id: ExecutionId; readonly existing: boolean }
  | Refused<SubmitRefusal>;

// Owning -----------------------------------------------------------------------------------------

export interface Claim {
  readonly session: SessionId;
  readonly pipelines: readonly PipelineName[];
  /**
   * The release that the worker announced. The claim then includes executions pinned to it, beside
   * unpinned ones (RE-9).
   */
  readonly release?: string;
  /** Claims executions of all projects when absent. */
  readonly project?: ProjectName;
  /** The most executions to claim per lane. Projects share them fairly. */
  readonly shares: readonly { readonly lane: Lane; readonly limit: number }[];
  /**
   * The age of the claiming process, if it is older than its session. The store uses it to decide
   * about suspects.
   */
  readonly livedMs?: number;
  /**
   * A number from 0 to 1. It picks the project to serve first when there is not enough for all.
   * Without it, the project that waited longest is first.
   */
  readonly dice?: number;
  /** How long the claim may wait for something to become ready, if `claimsWait`. Default 0. */
  readonly waitMs?: number;
}

export type ClaimResult =
  | {
      readonly kind: 'claimed';
      readonly claims: readonly Claimed[];
      /** More executions may be ready. Claim again without waiting for a wakeup. */
      readonly more: boolean;
      /** When the next execution of these pipelines becomes ready by time, if one will. */
      readonly nextReadyInMs?: number;
      /** Some sessions are overdue. A sweep would free their work. */
      readonly overdue: boolean;
    }
  | Refused<ClaimRefusal>;

/** A connection of the store's own driver, with an open transaction. */
export interface TransactionClient {
  query(...given: never[]): unknown;
}

export interface ReadCarried {
  readonly session: SessionId;
  /** Returns only claims after this fence. Pass 0 for all. */
  readonly after: number;
  readonly limit: number;
}

export interface Claimed {
  readonly execution: ExecutionRecord;
  readonly fence: Fence;
  /**
   * The outcome of the previous claim. `lost` means that its session ended, so its last actions are
   * unknown.
   */
  readonly previous: 'none' | 'parked' | 'given-back' | 'lost';
  readonly claimedAt: Instant;
}

/** The part that all writes of an owner share. */
export interface OwnerWrite {
  readonly id: ExecutionId;
  readonly fence: Fence;
  readonly session: SessionId;
  /** The seq of the first event; the others follow. Repeating a write with the same seq is safe. */
  readonly seq: number;
  readonly events: readonly NewEvent[];
  readonly children?: readonly Submit[];
  /** Awaits to open with this write (W-1). */
  readonly awaits?: readonly OpenAwait[];
  readonly attachments?: readonly Attachment[];
  readonly progress?: Payload;
  /** Replaces the heartbeats of the execution's steps. */
  readonly heartbeats?: readonly StepHeartbeat[];
  /**
   * The writer's project, as the coordinator found it. Quotas count by it, and replays return
   * answers only within it.
   */
  readonly project?: ProjectName;
}

export type Recorded =
  | {
      readonly kind: 'recorded';
      /** When this differs from the owner's count, the owner must read its inbox. */
      readonly inboxCount: number;
      readonly at: Instant;
    }
  | Refused<OwnerRefusal>;

export interface Transact<Result> extends Omit<OwnerWrite, 'events'> {
  /** Receives the store's own connection, inside the transaction. It is synchronous on SQLite. */
  work(connection: unknown): Result | Promise<Result>;
  events(result: Result): readonly NewEvent[];
}

export type Transacted<Result> =
  | {
      readonly kind: 'recorded';
      readonly inboxCount: number;
      readonly at: Instant;
      readonly result: Result;
    }
  /** `work` threw. Nothing was written. */
  | { readonly kind: 'threw'; readonly error: unknown }
  | Refused<OwnerRefusal>;

export interface Finish extends OwnerWrite {
  readonly status: TerminalStatus;
  /** The body of the parent's `child-ended` message, if there is a parent. */
  readonly outcome?: Payload;
  /**
   * The execution that continues this one. It takes over the key, the concurrency slot and the
   * messages that were not acted on.
   */
  readonly successor?: Submit;
  /**
   * The owner did not read messages after this one. With a successor, they go to it. Without
   * one, the store refuses the end when there are any.
   */
  readonly inboxSeen?: number;
  /**
   * With a successor: messages that the owner read but did not act on. They go to the successor
   * too.
   */
  readonly unread?: readonly number[];
  /** Present when the execution ends as `failed` or `quarantined` (Y-10). */
  readonly deadLetter?: DeadLetter;
  /** The execution may have open awaits (W-9). Passing true without need only costs a lookup. */
  readonly leavesAwaits?: boolean;
}

export type Finished =
  | { readonly kind: 'finished'; readonly at: Instant }
  | Refused<OwnerRefusal>
  | Refused<UnreadRefusal>;

export interface Park extends OwnerWrite {
  /** Wakes the execution after this long. */
  readonly wakeInMs?: number;
  /**
   * The number of children that must end before they wake it. Zero when it waits for none, or for
   * any.
   */
  readonly wakeAfter: number;
  /**
   * The last message that the owner read. The store refuses to park when a later one has arrived
   * (X-5).
   */
  readonly inboxSeen: number;
  /** The execution has registered compensations (Y-3). */
  readonly compensable?: boolean;
}

export type Parked = { readonly kind: 'parked' } | Refused<OwnerRefusal> | Refused<UnreadRefusal>;

export interface GiveBack extends OwnerWrite {
  readonly delayMs?: number;
  /** The execution stays open and blocked, with an explanation, until an operator resumes it. */
  readonly blocked?: boolean;
  readonly paused?: boolean;
  /**
   * The last message that the owner read, if it gives back because of a message. The store refuses
   * when a later one has arrived.
   */
  readonly inboxSeen?: number;
  /** The execution has registered compensations (Y-3). */
  readonly compensable?: boolean;
  /** The execution compensates from here on (Y-2). */
  readonly compensating?: boolean;
}

export type GivenBack =
  | { readonly kind: 'given-back' }
  | Refused<OwnerRefusal>
  | Refused<UnreadRefusal>;

export interface ReadInbox {
  readonly id: ExecutionId;
  readonly after: number;
  readonly limit: number;
}

// Commanding -------------------------------------------------------------------------------------

export interface Command extends Audited {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  /** The actor and the reason, as the event and the inbox message record them. */
  readonly body: Payload;
}

/** A cancel can belong to one item of a bulk job (Y-23). */
export interface Cancel extends Command {
  readonly job?: ExecutionId;
}

/**
 * The result of an operation on an execution. `status` is the execution's status now.
 *
 * - `done`: it took effect.
 * - `forwarded`: the execution is running; its worker applies it.
 * - `no-change`: it already was so.
 * - `refused`: nothing was written; `why` is the reason.
 */
export type CommandResult =
  | { readonly kind: 'done' | 'forwarded' | 'no-change'; readonly status: Status }
  | Refused<CommandRefusal>;

export interface Signal extends Command {
  readonly name: string;
}

export interface Maintain {
  readonly limit: number;
}

export interface Maintained {
  readonly overdue: readonly ExecutionId[];
  readonly cancelled: number;
  /** The number of unused concurrency and rate keys that were deleted. */
  readonly forgotten: number;
  readonly more: boolean;
  /** Time until the next schedule is due; zero when one is due now. */
  readonly nextScheduleInMs?: number;
}

// Reading ----------------------------------------------------------------------------------------

export interface Outcome {
  readonly id: ExecutionId;
  readonly status: TerminalStatus;
  readonly endedAt: Instant;
  /** The event that ended the execution. */
  readonly event: HistoryEvent;
}

export interface ReadHistory {
  readonly id: ExecutionId;
  readonly after: number;
  readonly limit: number;
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
  /** Only children of this execution. */
  readonly parent?: ExecutionId;
  /** Only executions with a dead letter of this code. */
  readonly code?: string;
  /** Only executions with a dead letter that was re-driven, or was not. */
  readonly redriven?: boolean;
  /** True: only executions without a parent. */
  readonly topLevel?: boolean;
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

export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Present when `bytes` went through a codec: its name, and the size of the decoded content. */
  readonly sealed?: { readonly by: string; readonly size: number };
}
