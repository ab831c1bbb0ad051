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

/**
 * The part of a store that sessions, recipes and watchers use. Every store has it, and so has a
 * coordinator: open one with `openCoordinator` of `holdfast/store/coordinator`.
 *
 * @example
 * import { openCoordinator } from 'holdfast/store/coordinator';
 *
 * const leases: LeaseService = await openCoordinator({ url: 'http://127.0.0.1:7433' });
 * console.log(leases.kind);
 * await leases.close();
 */
export interface LeaseService {
  /** The kind of store, such as `sqlite`, `postgres` or `coordinator`. */
  readonly kind: string;
  /** The limits of the store. */
  readonly policy: LeasePolicy;
  /** Which failures an acknowledged write survives, for people. */
  readonly durability: string;
  /** Lets another thread of this process open the same store. Absent if it cannot. */
  readonly address?: StoreAddress;
  /** Operations on sessions. Without `sweep`, the coordinator sweeps. */
  readonly sessions: Omit<SessionStore, 'sweep' | 'recover'> & Partial<Pick<SessionStore, 'sweep'>>;
  /** Operations on leases. */
  readonly leases: LeaseStore;
  /** Which processes get hints. If only this process does, waiters poll more often. */
  readonly hintsReach: 'this-process' | 'all-processes';
  /**
   * Calls `listener` when a key may have become free. A hint may be lost, late or wrong. Returns a
   * function that removes the listener.
   */
  onHint(listener: (key: LeaseKey) => void): () => void;
  /** Closes the store. Sessions in it are not ended. */
  close(): Promise<void>;
}

/**
 * An open store of sessions and leases. Open one with a function of `holdfast/store/…`.
 *
 * @example
 * import { openSqliteStore } from 'holdfast/store/sqlite';
 *
 * const leases: KernelStore = await openSqliteStore({ file: './leases.db' });
 * console.log(leases.durability);
 * await leases.close();
 */
export interface KernelStore extends LeaseService {
  /** Operations on sessions. */
  readonly sessions: SessionStore;
  /**
   * Raises the epoch, so that all new fences are greater than all that were issued or presented.
   * Ends a halt.
   */
  raiseEpoch(request: RaiseEpoch): Promise<EpochRaised>;
}

/**
 * The store interface that a session needs. Without `leases`, the session carries claims of
 * executions and acquires no leases.
 */
export interface SessionHost
  extends Pick<LeaseService, 'kind' | 'policy' | 'address' | 'hintsReach' | 'onHint'> {
  readonly sessions: Pick<SessionStore, 'open' | 'heartbeat' | 'end' | 'leases'>;
  readonly leases?: LeaseStore;
  /** True if a request may arrive twice, and the copy much later. */
  readonly doubles?: boolean;
}

/** The call by which a thread opens a store: `(await import(module))[open](options)`. */
export interface StoreAddress {
  /** The module's URL. */
  readonly module: string;
  /** The name of the function that it exports. */
  readonly open: string;
  /** Options that can be sent to a thread. */
  readonly options: object;
}

/**
 * Operations on sessions. Each is one transaction. `openSession` calls them for you.
 *
 * They return refusals as values. They throw `StoreUnavailable` if nothing was written,
 * `OutcomeUnknown` if it may have been, and `StoreCorrupt`.
 *
 * @example
 * for (const { session, state } of await store.sessions.list({ limit: 100 })) {
 *   console.log(session.owner, state);
 * }
 */
export interface SessionStore {
  /** Opens a session. Repeating it with the same id is safe. */
  open(request: OpenSession): Promise<SessionOpened>;
  /** Renews a session. A lapsed session rejoins. */
  heartbeat(request: Heartbeat): Promise<HeartbeatResult>;
  /** Ends a session and its leases: by its owner with an exit, or by an operator. */
  end(request: EndSession): Promise<SessionEnded>;
  /** Returns a session and its state, or undefined if there is none. */
  inspect(id: SessionId): Promise<SessionInspection | undefined>;
  /** Returns sessions by id, after `after`; with `all`, ended ones too. */
  list(query: ListSessions): Promise<readonly SessionInspection[]>;
  /** Returns the leases that a session holds now. If one is missing, its holder has lost it. */
  leases(id: SessionId): Promise<readonly CarriedLease[]>;
  /**
   * Records the ends of expired sessions and their leases, and deletes records past their
   * retention.
   */
  sweep(request: Sweep): Promise<Swept>;
  /** Extends every live session once per heartbeat, after an outage of the store or of its coordinators. */
  recover(request: Recover): Promise<Recovered>;
}

/**
 * Operations on leases. Each is one transaction. `Session` and `HeldLease` call most of them for
 * you.
 *
 * They return refusals as values. They throw `StoreUnavailable` if nothing was written,
 * `OutcomeUnknown` if it may have been, and `StoreCorrupt`.
 *
 * @example
 * const { state, record } = await store.leases.inspect(parseLeaseKey('reports/daily'));
 * console.log(state, record?.owner);
 */
export interface LeaseStore {
  /** Grants a key, or queues or refuses the attempt. Repeating it with the same attempt is safe. */
  acquire(request: Acquire): Promise<AcquireResult>;
  /** Leaves the queue of a key. */
  withdraw(request: Withdraw): Promise<Withdrawn>;
  /** Saves progress of a term. */
  checkpoint(request: SaveCheckpoint): Promise<CheckpointResult>;
  /** Records an external effect that is about to happen. */
  beginIntent(request: BeginIntent): Promise<IntentBegun>;
  /** Removes a recorded effect. */
  settleIntent(request: SettleIntent): Promise<IntentSettled>;
  /** Ends a term. */
  release(request: ReleaseLease): Promise<Released>;
  /** Asks the holder to stop by a deadline. */
  requestDrain(request: RequestDrain): Promise<DrainResult>;
  /** Ends a term now. */
  revoke(request: Revoke): Promise<Revoked>;
  /** Returns the state of a key, its record and how many sessions wait for it. */
  inspect(key: LeaseKey): Promise<LeaseInspection>;
  /** Checks that a fence is the newest of its key and has authority. */
  verify(request: Verify): Promise<FenceVerified>;
  /** Returns a page of events after `after`. */
  events(query: ReadEvents): Promise<EventPage>;
  /** Returns leases in the byte order of their keys, without their checkpoints. */
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

/** The time that a session has left, in durations counted from the store's response. */
export interface SessionLife {
  /** Milliseconds without a heartbeat until it expires. */
  readonly ttlMs: number;
  /** The last part of the ttl, without authority, in which it may rejoin. */
  readonly graceMs: number;
  /** Milliseconds for which its leases have authority: the least of it and its ancestors. */
  readonly authorityMs: number;
  /** Milliseconds until it expires. */
  readonly remainingMs: number;
  /** If this differs from the last response, check `leases(id)` before you rely on them. */
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
  /**
   * Extends only sessions that were opened through coordinators, if all of these fell silent
   * together. Redis and etcd have none.
   */
  readonly remote?: boolean;
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
  readonly actor: string;
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
