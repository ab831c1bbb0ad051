// The two ports of the kernel: sessions and leases. Every store implements both and passes the
// contract suite in `holdfast/testing`. Each verb is one transition in one transaction, with its
// guard in the predicate. A store returns unions and throws only StoreUnavailable (not applied),
// OutcomeUnknown (may have been applied) and StoreCorrupt.

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

/**
 * The store interface that a session needs. Without `leases`, the session carries claims of
 * executions and acquires no leases.
 */
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
  heartbeat(request: Heartbeat): Promise<HeartbeatResult>;
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
  acquire(request: Acquire): Promise<AcquireResult>;
  /** Gives up a place in the queue. */
  withdraw(request: Withdraw): Promise<Withdrawn>;
  checkpoint(request: SaveCheckpoint): Promise<CheckpointResult>;
  beginIntent(request: BeginIntent): Promise<IntentBegun>;
  settleIntent(request: SettleIntent): Promise<IntentSettled>;
  release(request: ReleaseLease): Promise<Released>;
  requestDrain(request: RequestDrain): Promise<DrainResult>;
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

/** The remaining time of a live session. Durations count from the store's reply (C-7). */
export interface SessionLife {
  readonly ttlMs: number;
  readonly graceMs: number;
  /**
   * The time for which its leases have authority: the least over the session and its ancestors
   * (H-2).
   */
  readonly authorityMs: number;
  readonly remainingMs: number;
  /** If this differs from the last reply, check `leases(id)` before extending authority. */
  readonly notices: number;
}

export interface Heartbeat {
  readonly id: SessionId;
  readonly owner: Owner;
  /** A new ttl from now on. It may not end the session sooner. */
  readonly ttlMs?: number;
}

export type HeartbeatResult =
  | ({ readonly kind: 'alive'; readonly rejoined: boolean } & SessionLife)
  | Refused<SessionRefusal>;

export interface EndSession {
  readonly id: SessionId;
  /** An owner declares its exit. An operator gives a name and a reason. */
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
  /** The remaining time to the lease's own deadline: of a drain, or of its greatest tenure. */
  readonly deadlineInMs?: number;
}

export interface ListSessions {
  readonly after?: SessionId;
  readonly limit: number;
  /** Includes ended sessions. */
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
  /** Sessions that the mass-expiry breaker extended. */
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
  /** Joins the queue if the key is not available now. */
  readonly wait?: boolean;
  /** Takes a retired key again. */
  readonly reopen?: boolean;
  /** Goes back to the checkpoint before the last, in the same step. */
  readonly fromCheckpointBefore?: boolean;
  readonly tenureMsMax?: number;
}

export type AcquireResult =
  | ({ readonly kind: 'granted'; readonly replayed: boolean } & Grant)
  | { readonly kind: 'queued'; readonly ahead: number; readonly refusal: EntryRefusal }
  | Refused<EntryRefusal>
  | Refused<SessionRefusal>;

export interface Grant {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly grantedAt: Instant;
  /**
   * The least of the session's authority and the lease's own deadline, counted from the store's
   * reply.
   */
  readonly authorityMs: number;
  /** The remaining time to the lease's own deadline, if it has one. */
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

/** The part that all writes of a holder share. */
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

export type CheckpointResult =
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
  /** Never before the time that the holder was already promised (V-1). */
  readonly deadlineMs: number;
  readonly successor?: Owner;
}

export type DrainResult =
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
  /**
   * The longest time until the key can be taken, if its holder does not renew; zero when it is
   * free.
   */
  readonly freeInMs: number;
  readonly waiting: number;
  readonly record?: LeaseRecord;
}

export interface ListLeases {
  /** Lists only keys that start with this. */
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
  /** The exit of the last term, if it has ended. */
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
  /** Retention deleted events after `after`. Read the state again, then continue from `oldest`. */
  | { readonly kind: 'truncated'; readonly oldest: EventSeq };

export interface RaiseEpoch {
  readonly actor: string;
  readonly reason: string;
}

export interface EpochRaised {
  readonly kind: 'raised';
  readonly epoch: number;
}
