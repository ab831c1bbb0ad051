// The port for executions. Every verb is a whole transition in one transaction with its guard in the
// predicate; history is part of it. Verbs of owners carry the fence of their claim. They take one item
// and are made for batches: a store gathers what is asked for while a flush is under way into the next
// one (group commit), so ten thousand calls cost a few transactions.
//
// Like the kernel's ports, a store answers with unions and throws only StoreUnavailable (known not
// applied), OutcomeUnknown (may have been applied; the same call may be repeated, and is answered as
// if it were the first), StoreCorrupt and, by whatever writes, StoreSealed (EX-1).

import type { Bell } from '../../execution/bell.ts';
import type {
  ExecutionRecord,
  Hold,
  Lane,
  Status,
  Submission,
  TerminalStatus,
} from '../../execution/execution.ts';
import type { HistoryEvent, InboxMessage, NewEvent } from '../../execution/history.ts';
import type { ExecutionId, Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import type {
  ClaimRefusal,
  CommandRefusal,
  NewsRefusal,
  OwnerRefusal,
  SubmitRefusal,
} from '../../execution/refusal.ts';
import type { AccessStore } from '../../features/access/port.ts';
import type { Audited } from '../../features/audit/model.ts';
import type { AuditStore } from '../../features/audit/port.ts';
import type { OpenAwait } from '../../features/awaits/model.ts';
import type { AwaitStore } from '../../features/awaits/port.ts';
import type { SealStore } from '../../features/export/port.ts';
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

/** A store that keeps executions too: memory, SQLite and PostgreSQL. */
export interface CoordinatorStore extends KernelStore {
  readonly executions: ExecutionStore;
  readonly access: AccessStore;
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
    ReleaseStore,
    Bell {}

/**
 * What a worker asks of a store. A coordinator elsewhere offers this much to its workers, and sees to schedules,
 * deadlines, awaits and bulk acts itself.
 */
export interface WorkerStore extends SessionHost, Pick<KernelStore, 'durability' | 'close'> {
  readonly sessions: SessionHost['sessions'] & Pick<SessionStore, 'sweep'>;
  readonly executions: WorkerExecutions;
}

export interface WorkerExecutions
  extends Omit<ExecutionOwning, 'carried'>,
    Pick<ExecutionReads, 'read' | 'history'>,
    Pick<AwaitStore, 'interaction' | 'expireAwaits'>,
    Pick<ReleaseStore, 'announce'>,
    BlobStore,
    Bell {}

/** What workers do. */
export interface ExecutionOwning {
  /** When its answer was lost, what it took comes with the next one of the same session. */
  claim(request: Claim): Promise<ClaimAnswer>;
  /** What a session runs, as it was claimed, by fence: for who has lost an answer on the way. */
  carried(query: ReadCarried): Promise<readonly Claimed[]>;
  /** How many more executions would make it faster now; with more it would only be busier. */
  room(): number;
  /** Appends to the history of a running execution, which stays with its owner. */
  record(request: OwnerWrite): Promise<Recorded>;
  /** As `record`, together with writes of the user's own in the same transaction. */
  transact<Result>(request: Transact<Result>): Promise<Transacted<Result>>;
  /** The execution ends for good. */
  finish(request: Finish): Promise<Finished>;
  /** The execution waits for time, children or messages; nobody owns it meanwhile. */
  park(request: Park): Promise<Parked>;
  /** The owner lets go; the execution is queued again, now or later, or blocked until somebody acts. */
  giveBack(request: GiveBack): Promise<GivenBack>;
  /** Messages after `after`, in order. */
  inbox(query: ReadInbox): Promise<readonly InboxMessage[]>;
}

/** What everybody else does. */
export interface ExecutionCommands {
  submit(request: Submit & Audited): Promise<SubmitAnswer>;
  /** As `submit`, within a transaction of the caller's own, on stores that can: it is there when that commits. */
  submitWithin?(client: TransactionClient, request: Submit): Promise<SubmitAnswer>;
  cancel(request: Cancel): Promise<CommandAnswer>;
  pause(request: Command): Promise<CommandAnswer>;
  /** Takes away `paused`, and `blocked` too. */
  resume(request: Command): Promise<CommandAnswer>;
  signal(request: Signal): Promise<CommandAnswer>;
  /** Ends what is past its deadline, cancels children of the ended, forgets keys; a page at a time. */
  maintain(request: Maintain): Promise<Maintained>;
}

export interface ExecutionReads {
  /** What this submission would be answered with if its id or key is taken; else undefined. */
  submitted(request: Submit): Promise<SubmitAnswer | undefined>;
  read(id: ExecutionId): Promise<ExecutionRecord | undefined>;
  /** Those of `ids` that are there, in their order. */
  readMany(ids: readonly ExecutionId[]): Promise<readonly ExecutionRecord[]>;
  /** How executions ended: those of `ids` that have. */
  outcomes(ids: readonly ExecutionId[]): Promise<readonly Outcome[]>;
  history(query: ReadHistory): Promise<readonly HistoryEvent[]>;
  /** All of each, in order, while the bodies of all together have at most `bytesMax`. The rest is left out. */
  histories(query: ReadHistories): Promise<readonly WholeHistory[]>;
  /** Of the bodies of all its events; 0 when it is not there. */
  historyBytes(id: ExecutionId): Promise<number>;
  list(query: ListExecutions): Promise<readonly ExecutionRecord[]>;
  children(query: ListChildren): Promise<readonly ChildSummary[]>;
  attachment(query: ReadAttachment): Promise<Attachment | undefined>;
  attachments(id: ExecutionId): Promise<readonly AttachmentSummary[]>;
}

type Refused<Why> = { readonly kind: 'refused' } & Why;

// Submitting -------------------------------------------------------------------------------------

export interface Submit extends Submission {
  /** Not before this long from now. */
  readonly delayMs?: number;
  /** What the `submitted` event says. */
  readonly body?: Payload;
}

export type SubmitAnswer =
  /** `existing` when the same id or key was submitted before with the same intent. */
  | { readonly kind: 'submitted'; readonly id: ExecutionId; readonly existing: boolean }
  | Refused<SubmitRefusal>;

// Owning -----------------------------------------------------------------------------------------

export interface Claim {
  readonly session: SessionId;
  readonly pipelines: readonly PipelineName[];
  /** That its worker announced: what is pinned to it, beside what is pinned to none (RE-9). */
  readonly release?: string;
  /** Only what is of this project; of all unless said. */
  readonly project?: ProjectName;
  /** How many of each lane at most. Projects share them fairly. */
  readonly shares: readonly { readonly lane: Lane; readonly limit: number }[];
  /** How long whoever claims has lived, where its session is younger: for suspects. */
  readonly livedMs?: number;
  /** From 0 to 1: with which project it begins, where there is not enough for all. Without it, the longest ready. */
  readonly dice?: number;
}

export type ClaimAnswer =
  | {
      readonly kind: 'claimed';
      readonly claims: readonly Claimed[];
      /** There may be more that is ready: claim again without waiting for a ring. */
      readonly more: boolean;
      /** When the next execution of these pipelines becomes ready, if one will by itself. */
      readonly nextReadyInMs?: number;
      /** Sessions are overdue: a sweep would find their work. */
      readonly overdue: boolean;
    }
  | Refused<ClaimRefusal>;

/** A connection of the store's own driver, with a transaction open. */
export interface TransactionClient {
  query(...given: never[]): unknown;
}

export interface ReadCarried {
  readonly session: SessionId;
  /** Only what was claimed after this fence; 0: all. */
  readonly after: number;
  readonly limit: number;
}

export interface Claimed {
  readonly execution: ExecutionRecord;
  readonly fence: Fence;
  /** How the claim before this one ended. `lost`: its session did, and what it was doing is not known. */
  readonly previous: 'none' | 'parked' | 'given-back' | 'lost';
  readonly claimedAt: Instant;
}

/** What every write of an owner carries. */
export interface OwnerWrite {
  readonly id: ExecutionId;
  readonly fence: Fence;
  readonly session: SessionId;
  /** Seq of the first of `events`; they follow each other. Repeating a write with the same is safe. */
  readonly seq: number;
  readonly events: readonly NewEvent[];
  readonly children?: readonly Submit[];
  /** Opened with it (W-1). */
  readonly awaits?: readonly OpenAwait[];
  readonly attachments?: readonly Attachment[];
  readonly progress?: Payload;
  /** Of who writes, as a coordinator found out: for who counts, and a replay is answered in its own project only. */
  readonly project?: ProjectName;
}

export type Recorded =
  | {
      readonly kind: 'recorded';
      /** When this differs from what the owner knows, it must read the inbox. */
      readonly news: number;
      readonly at: Instant;
    }
  | Refused<OwnerRefusal>;

export interface Transact<Result> extends Omit<OwnerWrite, 'events'> {
  /** Sees the store's own connection, inside the transaction: synchronous on SQLite. */
  work(connection: unknown): Result | Promise<Result>;
  events(result: Result): readonly NewEvent[];
}

export type Transacted<Result> =
  | {
      readonly kind: 'recorded';
      readonly news: number;
      readonly at: Instant;
      readonly result: Result;
    }
  /** `work` threw; nothing was written. */
  | { readonly kind: 'threw'; readonly error: unknown }
  | Refused<OwnerRefusal>;

export interface Finish extends OwnerWrite {
  readonly status: TerminalStatus;
  /** For the parent, when there is one: what `child-ended` says. */
  readonly outcome?: Payload;
  /** Continued under the same key and concurrency place by this one, which gets what nobody acted on. */
  readonly successor?: Submit;
  /** With a successor: messages after this one were not read by the owner, and go on. */
  readonly newsSeen?: number;
  /** With a successor: messages that were read and not acted on, and go on too. */
  readonly unread?: readonly number[];
  /** When it ends as `failed` or `quarantined` (Y-10). */
  readonly deadLetter?: DeadLetter;
  /** It opened awaits that have not settled (W-9). Wrong only in being said in vain. */
  readonly leavesAwaits?: boolean;
}

export type Finished = { readonly kind: 'finished'; readonly at: Instant } | Refused<OwnerRefusal>;

export interface Park extends OwnerWrite {
  /** Wakes by itself after this long. */
  readonly wakeInMs?: number;
  /** How many children must end before they wake it; zero when it waits for none, or for any. */
  readonly wakeAfter: number;
  /** Refused when more has arrived. */
  readonly newsSeen: number;
  /** There are registered compensations (Y-3). */
  readonly compensable?: boolean;
}

export type Parked = { readonly kind: 'parked' } | Refused<OwnerRefusal> | Refused<NewsRefusal>;

export interface GiveBack extends OwnerWrite {
  readonly delayMs?: number;
  /** Open, explained, and left alone until it is resumed. */
  readonly blocked?: boolean;
  readonly paused?: boolean;
  /** Of who gives back because of a message: refused when more has arrived. */
  readonly newsSeen?: number;
  /** There are registered compensations (Y-3). */
  readonly compensable?: boolean;
  /** It undoes from here on (Y-2). */
  readonly compensating?: boolean;
}

export type GivenBack =
  | { readonly kind: 'given-back' }
  | Refused<OwnerRefusal>
  | Refused<NewsRefusal>;

export interface ReadInbox {
  readonly id: ExecutionId;
  readonly after: number;
  readonly limit: number;
}

// Commanding -------------------------------------------------------------------------------------

export interface Command extends Audited {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  /** Who and why, as the event and the inbox message say it. */
  readonly body: Payload;
}

/** Y-23: for one item of a bulk job. */
export interface Cancel extends Command {
  readonly job?: ExecutionId;
}

export type CommandAnswer =
  /** `passed-on` to the owner, who has not taken notice yet. */
  | { readonly kind: 'done' | 'passed-on' | 'no-change'; readonly status: Status }
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
  /** Concurrency and rate keys that nobody used any more. */
  readonly forgotten: number;
  readonly more: boolean;
  /** Until the next schedule is due; zero when one is. */
  readonly nextScheduleInMs?: number;
}

// Reading ----------------------------------------------------------------------------------------

export interface Outcome {
  readonly id: ExecutionId;
  readonly status: TerminalStatus;
  readonly endedAt: Instant;
  /** The event that ended it. */
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

export interface WholeHistory {
  readonly id: ExecutionId;
  readonly events: readonly HistoryEvent[];
}

export interface ListExecutions {
  readonly project: ProjectName;
  readonly status?: readonly Status[];
  /** Without it, the engine's own pipelines are left out. */
  readonly pipeline?: PipelineName;
  readonly tag?: string;
  readonly attribute?: AttributeFilter;
  readonly hold?: Hold;
  /** Newest first; goes on below this id. */
  readonly before?: ExecutionId;
  readonly limit: number;
}

export interface AttributeFilter {
  readonly name: string;
  readonly equals?: string | number | boolean;
  readonly min?: number;
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

export interface AttachmentSummary {
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  readonly at: Instant;
}

export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  /** When `bytes` went through a codec: which, and how many the content has. */
  readonly sealed?: { readonly by: string; readonly size: number };
}
