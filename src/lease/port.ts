// The two ports of the kernel: sessions and leases. Every store implements both and passes the
// contract suite in `holdfast/testing`. Each verb is a whole transition in one transaction; the
// guard is in its predicate. A store answers with unions and throws only StoreUnavailable (known
// not applied), OutcomeUnknown (may have been applied) and StoreCorrupt.

import type { Instant } from '../support/clock.ts';
import type { EventSeq, LeaseEvent } from './event.ts';
import type { DeclaredExit, Exit } from './exit.ts';
import type { Fence } from './fence.ts';
import type { Checkpoint, Drain, Intent, LeaseRecord, LeaseState, Predecessor } from './lease.ts';
import type { AttemptId, EffectId, LeaseKey, Owner, RequestId, SessionId } from './names.ts';
import type { LeasePolicy } from './policy.ts';
import type { EntryRefusal, SessionRefusal, TermRefusal, WriteRefusal } from './refusal.ts';
import type { SessionMetadata, SessionRecord, SessionState } from './session.ts';

/** An open store. */
export interface KernelStore {
  readonly kind: string;
  readonly policy: LeasePolicy;
  /** What a "done" survives, in words. */
  readonly durability: string;
  /** How another thread of this process opens the same store; absent where that is not possible. */
  readonly address?: StoreAddress;
  readonly sessions: SessionStore;
  readonly leases: LeaseStore;
  /** Whom hints reach. Where they reach only this process, waiters poll more often. */
  readonly hintsReach: 'this-process' | 'all-processes';
  /** Lifts the fences above everything issued or presented, and ends a halt. */
  raiseEpoch(request: RaiseEpoch): Promise<EpochRaised>;
  /** Calls back when a key may have become free. A hint: it may be lost, late or wrong. */
  onHint(listener: (key: LeaseKey) => void): () => void;
  close(): Promise<void>;
}

/** What a session asks of its store. Without `leases` it carries claims of executions and acquires nothing. */
export interface SessionHost
  extends Pick<KernelStore, 'kind' | 'policy' | 'address' | 'hintsReach' | 'onHint'> {
  readonly sessions: Pick<SessionStore, 'open' | 'heartbeat' | 'end' | 'leases'>;
  readonly leases?: LeaseStore;
}

/** `(await import(module))[open](options)`, with options that can be sent to a thread. */
export interface StoreAddress {
  readonly module: string;
  readonly open: string;
  readonly options: object;
}

export interface SessionStore {
  open(request: OpenSession): Promise<SessionOpened>;
  heartbeat(request: Heartbeat): Promise<HeartbeatAnswer>;
  end(request: EndSession): Promise<SessionEnded>;
  inspect(id: SessionId): Promise<SessionInspection | undefined>;
  list(query: ListSessions): Promise<readonly SessionInspection[]>;
  /** The leases this session carries now. A lease its holder believes in and that is missing is lost. */
  leases(id: SessionId): Promise<readonly CarriedLease[]>;
  /** Marks what is overdue as expired, records ends that follow from that, deletes what is old. */
  sweep(request: Sweep): Promise<Swept>;
  /** After an outage: gives every live session its fair chance, once per heartbeat (E-6). */
  recover(request: Recover): Promise<Recovered>;
}

export interface LeaseStore {
  acquire(request: Acquire): Promise<AcquireAnswer>;
  /** Gives up a place in the queue. */
  withdraw(request: Withdraw): Promise<Withdrawn>;
  checkpoint(request: SaveCheckpoint): Promise<CheckpointAnswer>;
  beginIntent(request: BeginIntent): Promise<IntentBegun>;
  settleIntent(request: SettleIntent): Promise<IntentSettled>;
  release(request: ReleaseLease): Promise<Released>;
  requestDrain(request: RequestDrain): Promise<DrainAnswer>;
  revoke(request: Revoke): Promise<Revoked>;
  inspect(key: LeaseKey): Promise<LeaseInspection>;
  verify(request: Verify): Promise<FenceVerified>;
  events(query: ReadEvents): Promise<EventPage>;
  /** Leases by key, in the order of its bytes; without the bytes of their checkpoints. */
  list(query: ListLeases): Promise<readonly ListedLease[]>;
}

type Refused<Why> = { readonly kind: 'refused' } & Why;

// Sessions ---------------------------------------------------------------------------------------

export interface OpenSession {
  readonly id: SessionId;
  readonly owner: Owner;
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly parent?: SessionId;
  readonly metadata: SessionMetadata;
}

export type SessionOpened =
  | ({ readonly kind: 'opened'; readonly replayed: boolean } & SessionLife)
  | Refused<SessionRefusal>;

/** What a living session is told about its time. Durations, counted from the store's answer (C-7). */
export interface SessionLife {
  readonly ttlMs: number;
  readonly graceMs: number;
  /** How long its leases have authority: the least over it and its ancestors (H-2). */
  readonly authorityMs: number;
  readonly remainingMs: number;
  /** When this differs from the last answer, look at `leases(id)` before extending. */
  readonly notices: number;
}

export interface Heartbeat {
  readonly id: SessionId;
  readonly owner: Owner;
  /** A new ttl from now on; it may not end the session sooner than it would. */
  readonly ttlMs?: number;
}

export type HeartbeatAnswer =
  | ({ readonly kind: 'alive'; readonly rejoined: boolean } & SessionLife)
  | Refused<SessionRefusal>;

export interface EndSession {
  readonly id: SessionId;
  /** The owner says how it ended; an operator is named and gives a reason. */
  readonly by:
    | { readonly kind: 'owner'; readonly owner: Owner; readonly exit: DeclaredExit }
    | { readonly kind: 'operator'; readonly actor: string; readonly reason: string };
}

export type SessionEnded =
  | { readonly kind: 'ended'; readonly replayed: boolean }
  | Refused<SessionRefusal>;

export interface SessionInspection {
  readonly session: SessionRecord;
  readonly state: SessionState;
  readonly authorityMs: number;
  readonly remainingMs: number;
}

export interface CarriedLease {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly drain?: Drain;
  /** What is left of the lease's own deadline: of a drain, or of its greatest tenure. */
  readonly deadlineInMs?: number;
}

export interface ListSessions {
  readonly after?: SessionId;
  readonly limit: number;
  /** Ended ones too. */
  readonly all?: boolean;
}

export interface Sweep {
  readonly limit: number;
}

export interface Swept {
  readonly expired: readonly SessionId[];
  /** Terms whose end was recorded. */
  readonly ended: readonly { readonly key: LeaseKey; readonly fence: Fence }[];
  readonly deleted: number;
  /** Sessions the mass-expiry breaker gave more time to. */
  readonly paused: number;
  readonly more: boolean;
}

export interface Recover {
  readonly cause: string;
}

export interface Recovered {
  readonly extended: number;
}

// Leases -----------------------------------------------------------------------------------------

export interface Acquire {
  readonly key: LeaseKey;
  readonly session: SessionId;
  readonly attempt: AttemptId;
  /** Join the queue when it cannot be had now. */
  readonly wait?: boolean;
  /** Take a retired key again. */
  readonly reopen?: boolean;
  /** Go back to the checkpoint before the last, in the same step. */
  readonly fromCheckpointBefore?: boolean;
  readonly tenureMsMax?: number;
}

export type AcquireAnswer =
  | ({ readonly kind: 'granted'; readonly replayed: boolean } & Grant)
  | { readonly kind: 'queued'; readonly ahead: number; readonly refusal: EntryRefusal }
  | Refused<EntryRefusal>
  | Refused<SessionRefusal>;

export interface Grant {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly grantedAt: Instant;
  /** Session and own deadline taken together, counted from the store's answer. */
  readonly authorityMs: number;
  /** What is left of the lease's own deadline, if it has one. */
  readonly deadlineInMs?: number;
  readonly checkpoint?: Checkpoint;
  readonly intents: readonly Intent[];
  readonly predecessor: Predecessor;
  readonly lossesSinceCheckpoint: number;
}

export interface Withdraw {
  readonly key: LeaseKey;
  readonly attempt: AttemptId;
}

export interface Withdrawn {
  readonly kind: 'withdrawn';
  readonly wasQueued: boolean;
}

/** What every write of a holder carries. */
export interface Tenure {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly session: SessionId;
}

export interface SaveCheckpoint extends Tenure {
  readonly seq: number;
  readonly bytes: Uint8Array;
  readonly digest: string;
  readonly type?: string;
}

export type CheckpointAnswer =
  | { readonly kind: 'saved'; readonly replayed: boolean }
  | Refused<TermRefusal>
  | Refused<WriteRefusal>;

export interface BeginIntent extends Tenure {
  readonly effect: EffectId;
  readonly note?: string;
}

export type IntentBegun =
  | { readonly kind: 'begun'; readonly replayed: boolean }
  | Refused<TermRefusal>
  | Refused<WriteRefusal>;

export interface SettleIntent extends Tenure {
  readonly effect: EffectId;
}

export type IntentSettled =
  | { readonly kind: 'settled'; readonly wasOpen: boolean }
  | Refused<TermRefusal>;

export interface ReleaseLease extends Tenure {
  readonly exit: DeclaredExit;
  readonly cause?: string;
}

export type Released =
  | { readonly kind: 'released'; readonly replayed: boolean }
  | Refused<TermRefusal>;

export interface RequestDrain {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly request: RequestId;
  readonly by: string;
  readonly reason: string;
  /** Never before what the holder has been promised already (V-1). */
  readonly deadlineMs: number;
  readonly successor?: Owner;
}

export type DrainAnswer =
  | { readonly kind: 'draining'; readonly deadlineInMs: number; readonly replayed: boolean }
  | Refused<TermRefusal>
  | Refused<WriteRefusal>;

export interface Revoke {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly request: RequestId;
  readonly actor: string;
  readonly reason: string;
}

export type Revoked =
  | { readonly kind: 'revoked'; readonly replayed: boolean }
  | Refused<TermRefusal>;

export interface LeaseInspection {
  readonly key: LeaseKey;
  readonly state: LeaseState;
  /** How long until it could be taken at most, when nobody renews; zero when it is free. */
  readonly freeInMs: number;
  readonly waiting: number;
  readonly record?: LeaseRecord;
}

export interface ListLeases {
  /** Only keys that start with this. */
  readonly prefix?: string;
  readonly after?: LeaseKey;
  readonly limit: number;
}

export interface ListedLease {
  readonly key: LeaseKey;
  readonly state: LeaseState;
  readonly fence: Fence;
  readonly session: SessionId;
  readonly owner: Owner;
  readonly since: Instant;
  readonly freeInMs: number;
  /** How the last term ended, when it has. */
  readonly exit?: Exit;
}

export interface Verify {
  readonly key: LeaseKey;
  readonly fence: Fence;
}

export type FenceVerified =
  | { readonly kind: 'current'; readonly authorityMs: number }
  | Refused<TermRefusal>;

export interface ReadEvents {
  readonly after: EventSeq;
  readonly limit: number;
}

export type EventPage =
  | { readonly kind: 'events'; readonly events: readonly LeaseEvent[]; readonly next: EventSeq }
  /** Events after `after` were deleted by retention: read the state anew, go on from `oldest`. */
  | { readonly kind: 'truncated'; readonly oldest: EventSeq };

export interface RaiseEpoch {
  readonly actor: string;
  readonly reason: string;
}

export interface EpochRaised {
  readonly kind: 'raised';
  readonly epoch: number;
}
