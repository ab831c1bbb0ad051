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

import type { GiveBackRequest, ParkRequest } from '../../execution/decide/owner.ts';
import type { KeyedBy } from '../../execution/decide/submit.ts';
import type {
  Attributes,
  ExecutionRecord,
  Lane,
  Status,
  StepHeartbeat,
  Submission,
  TerminalStatus,
} from '../../execution/execution.ts';
import type { InboxMessage, NewEvent } from '../../execution/history.ts';
import type {
  ExecutionId,
  ExecutionRef,
  Payload,
  PipelineName,
  ProjectName,
} from '../../execution/names.ts';
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
import type { ErasureStore } from '../../features/erasure/port.ts';
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
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type {
  CarriedLease,
  KernelStore,
  ListSessions,
  SessionHost,
  SessionInspection,
  SessionStore,
} from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import type { CensusStore } from './census-store.ts';
import type { ExecutionReads } from './execution-reads.ts';
import type { BlobStore, PayloadStore } from './payload-store.ts';

type Refused<Why> = { readonly kind: 'refused' } & Why;

/**
 * An open store that keeps executions besides sessions and leases: memory, SQLite or PostgreSQL.
 */
export interface CoordinatorStore extends KernelStore {
  /** Operations on sessions. */
  readonly sessions: CoordinatorSessions;
  /** Operations on executions. `Holdfast` calls them for you. */
  readonly executions: ExecutionStore;
  /** Operations on projects and access keys. */
  readonly access: AccessStore;
  /** Operations on the seal of the store. */
  readonly seals: SealStore;
}

export interface CoordinatorSessions extends SessionStore {
  /** With `project`, returns only its live sessions, and reads no others. */
  list(
    query: ListSessions & { readonly project?: ProjectName },
  ): Promise<readonly SessionInspection[]>;
  /** With a page, returns leases in the order of their keys, and fewer than `limit` only at the end. */
  leases(id: SessionId, page?: CarriedPage): Promise<readonly CarriedLease[]>;
}

export interface CarriedPage {
  readonly after?: LeaseKey;
  readonly limit: number;
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
    ErasureStore,
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
  /** If the reply is lost, the session's next claim returns the same executions again. */
  claim(request: Claim): Promise<ClaimResult>;
  /**
   * Lists the executions that a session runs, as it claimed them, by fence. A worker calls it after
   * it lost a reply.
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
  /** Signals or cancels a child of an execution, for the owner of that execution. */
  messageChild(request: MessageChild): Promise<ChildMessaged>;
  /** Returns messages after `after`, in order. */
  inbox(query: ReadInbox): Promise<readonly InboxMessage[]>;
}

/** The verbs of all other callers. */
export interface ExecutionCommands {
  submit(request: Submit & Audited): Promise<SubmitResult>;
  /**
   * The verbs that can join the caller's own transaction, on stores that support it. They take
   * effect once that transaction commits.
   */
  within?(client: TransactionClient): VerbsWithin;
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

// Submitting -------------------------------------------------------------------------------------

export interface Submit extends Submission, KeyedBy {
  /** The earliest start, in milliseconds from now. */
  readonly delayMs?: number;
  /** The body of the `submitted` event. */
  readonly body?: Payload;
}

export type SubmitResult =
  /** `existing` is true when the same id or key was submitted before with the same intent. */
  | {
      readonly kind: 'submitted';
      readonly id: ExecutionId;
      readonly existing: boolean;
      /** The result of `message`. */
      readonly signalled?: CommandResult;
    }
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

/** A connection of the store's own driver, `pg` or `node:sqlite`, with an open transaction. */
export type TransactionClient =
  | { query(...given: never[]): unknown }
  | { readonly isTransaction: boolean; prepare(sql: string): unknown };

/** Verbs on the caller's connection. */
export interface VerbsWithin extends BlobStore {
  submit(request: Submit): Promise<SubmitResult>;
  signal(request: Signal): Promise<CommandResult>;
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
  /** Replaces the search attributes of the execution. */
  readonly attributes?: Attributes;
  /**
   * The writer's project, as the coordinator found it. Quotas count by it, and replays return
   * results only within it.
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

export type Park = OwnerWrite & ParkRequest;

export type Parked = { readonly kind: 'parked' } | Refused<OwnerRefusal> | Refused<UnreadRefusal>;

export type GiveBack = OwnerWrite & GiveBackRequest;

export type GivenBack =
  | { readonly kind: 'given-back' }
  | Refused<OwnerRefusal>
  | Refused<UnreadRefusal>;

export interface MessageChild extends Pick<OwnerWrite, 'id' | 'fence' | 'session'> {
  readonly project: ProjectName;
  readonly child: ExecutionId;
  readonly message:
    | { readonly kind: 'cancel'; readonly reason?: string }
    | ({ readonly kind: 'signal'; readonly out: Payload } & Required<Pick<Signal, 'name' | 'key'>>);
}

/** `claim-ended`: the caller does not own the parent, or has no such child. */
export type ChildMessaged = CommandResult | Refused<Extract<OwnerRefusal, { why: 'claim-ended' }>>;

export interface ReadInbox {
  readonly id: ExecutionId;
  readonly after: number;
  readonly limit: number;
}

// Commanding -------------------------------------------------------------------------------------

export interface Command extends Audited {
  /** The id, or `key:` and the key. The store finds a key in the command's transaction. */
  readonly id: ExecutionRef;
  readonly project: ProjectName;
  /** The actor and the reason, as the event and the inbox message record them. */
  readonly body: Payload;
}

/** A cancel can belong to one item of a bulk job (Y-23). It then names an id. */
export interface Cancel extends Command {
  readonly job?: ExecutionId;
  /** Ends the execution at once, without cleanup and compensation, also if a worker runs it. */
  readonly force?: boolean;
}

/**
 * The result of an operation on an execution. `status` is the execution's status now.
 *
 * - `done`: it took effect.
 * - `forwarded`: a worker applies it: the one that runs the execution, or the next one.
 * - `no-change`: it already was so.
 * - `refused`: nothing was written; `why` is the reason.
 */
export type CommandResult =
  | { readonly kind: 'done' | 'forwarded' | 'no-change'; readonly status: Status }
  | Refused<CommandRefusal>;

export interface Signal extends Command {
  readonly name: string;
  /** A signal with a key that the execution got before changes nothing. */
  readonly key?: string;
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

export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Present when `bytes` went through a codec: its name, and the size of the decoded content. */
  readonly sealed?: { readonly by: string; readonly size: number };
}
