// Leases
//
// A lease is the right to act for one key, carried by a session. It has no ttl of its own. It is
// valid while its fence is the newest of its key, it has not ended, none of its deadlines has
// passed, and its session and all ancestors live.
//
//   free ── acquire ──▶ held ── drain ──▶ draining ── deadline ──▶ free (revoked)
//    ▲                   │ └─ session lapses ─▶ lapsed ── rejoin ─▶ held
//    │                   │                        └─ expires ─▶ expired ── reclaim ─▶ free
//    └──── release ──────┘          release as retired ─▶ retired (kept until swept)
//
//   T-6  Every write of a holder is conditioned on key, fence and session, each separately.
//   A-2  The acquire that replaces a term captures its exit as the predecessor's.
//   E-3  Every term has exactly one end event.

import type { Instant } from '../support/clock.ts';
import type { Exit } from './exit.ts';
import type { Fence } from './fence.ts';
import type { AttemptId, EffectId, LeaseKey, Owner, RequestId, SessionId } from './names.ts';
import { chainEnd, chainState, type SessionChain } from './session.ts';

/** The stored record of a key's newest term. */
export interface LeaseRecord {
  /** The key. */
  readonly key: LeaseKey;
  /** The fence of the term. */
  readonly fence: Fence;
  /** The session that holds or held it. */
  readonly session: SessionId;
  /** The owner of that session. */
  readonly owner: Owner;
  /** The acquire attempt that got it. */
  readonly attempt: AttemptId;
  /** Rises with every change of the record. */
  readonly rev: number;
  /** When it was granted. */
  readonly grantedAt: Instant;
  /** The end of the term if it was acquired with `tenureMsMax`. */
  readonly hardDeadlineAt?: Instant;
  /** The request to stop, if there is one. */
  readonly drain?: Drain;
  /** How the term ended, if the store has recorded that. */
  readonly end?: TermEnd;
  /** How the term before this one ended. */
  readonly predecessor: Predecessor;
  /** The last checkpoint. */
  readonly checkpoint?: Checkpoint;
  /** The checkpoint before that, to go back to. */
  readonly checkpointBefore?: Checkpoint;
  /** Terms that expired since the last checkpoint. */
  readonly lossesSinceCheckpoint: number;
  /** Effects that were begun and not settled. */
  readonly intents: readonly Intent[];
  /** The owner who alone may acquire the key for a short while, after a yield. */
  readonly reservation?: Reservation;
}

/** How a term ended. */
export interface TermEnd {
  /** When. */
  readonly at: Instant;
  /** The kind of end. */
  readonly exit: Exit;
  /** The cause that the holder or operator gave. */
  readonly cause?: string;
  /** The operator who forced the end. */
  readonly actor?: string;
  /** The operator's request id. */
  readonly request?: RequestId;
}

/** How the term before this one ended, for the new holder. */
export interface Predecessor {
  /** The kind of end. `none` if the key was never held. */
  readonly exit: Exit;
  /** The owner who held it. */
  readonly owner?: Owner;
  /** The fence of that term. */
  readonly fence?: Fence;
  /** When it ended. */
  readonly endedAt?: Instant;
  /** The cause that its holder or an operator gave. */
  readonly cause?: string;
  /** The operator who forced the end. */
  readonly actor?: string;
}

/** Saved progress of a key. */
export interface Checkpoint {
  /** The number of the checkpoint within its term. */
  readonly seq: number;
  /** The content. */
  readonly bytes: Uint8Array;
  /** The SHA-256 digest of the content, in hexadecimal. */
  readonly digest: string;
  /** The fence of the term that saved it. */
  readonly fence: Fence;
  /** When it was saved. */
  readonly at: Instant;
  /** A description of the bytes, such as a media type or a schema version. */
  readonly type?: string;
}

/** An external effect that a holder recorded before starting it. It may have happened. */
export interface Intent {
  /** The holder's name of the effect, such as `charge:order-17`. */
  readonly effect: EffectId;
  /** The fence of the term that began it. */
  readonly fence: Fence;
  /** When it was recorded. */
  readonly begunAt: Instant;
  /** A note for the successor. */
  readonly note?: string;
}

/** A request to a holder to stop by a deadline. */
export interface Drain {
  /** The id of the request. */
  readonly request: RequestId;
  /** The operator who asked. */
  readonly actor: string;
  /** Why. */
  readonly reason: string;
  /** When. */
  readonly requestedAt: Instant;
  /** When the store ends the term if it has not ended. */
  readonly deadlineAt: Instant;
  /** The owner who gets the key first. */
  readonly successor?: Owner;
}

/** After a yield to a named successor, no other owner may enter for a short while (V-5). */
export interface Reservation {
  readonly for: Owner;
  readonly until: Instant;
}

/**
 * The state of a key.
 *
 * - `free`: it can be acquired.
 * - `held`: a session holds it.
 * - `draining`: a session holds it and was asked to stop.
 * - `lapsed`: its session missed heartbeats and may rejoin; no successor may enter.
 * - `expired`: its session has expired; the next acquire takes over.
 * - `retired`: its work is done for good.
 */
export type LeaseState = 'free' | 'held' | 'draining' | 'lapsed' | 'expired' | 'retired';

/**
 * Returns how the term ended. The end is in its own row, or follows from a deadline or from its
 * session. The earliest end counts, so the result does not change with time.
 */
export function termEnd(
  lease: LeaseRecord,
  holder: SessionChain,
  now: Instant,
): TermEnd | undefined {
  if (lease.end !== undefined) return lease.end;
  let first = deadlineEnd(lease, now);
  // A term whose session is unknown has ended (E-5).
  const ofSession: TermEnd | undefined =
    holder.length === 0 ? { at: now, exit: 'expired', cause: 'session unknown' } : chainEnd(holder);
  if (ofSession !== undefined && (first === undefined || ofSession.at < first.at)) {
    first = ofSession;
  }
  return first;
}

function deadlineEnd(lease: LeaseRecord, now: Instant): TermEnd | undefined {
  const at = ownDeadline(lease);
  if (at === undefined || at > now) return undefined;
  return at === lease.drain?.deadlineAt
    ? { at, exit: 'revoked', cause: 'drain deadline passed' }
    : { at, exit: 'revoked', cause: 'hard deadline passed' };
}

/** Returns the state for readers. An expired lease is never shown as held (E-1). */
export function leaseState(
  lease: LeaseRecord | undefined,
  holder: SessionChain,
  now: Instant,
): LeaseState {
  if (lease === undefined) return 'free';
  const end = termEnd(lease, holder, now);
  if (end !== undefined) return end.exit === 'retired' ? 'retired' : 'free';
  const state = chainState(holder, now);
  if (state === 'overdue') return 'expired';
  if (state === 'lapsed') return 'lapsed';
  return lease.drain === undefined ? 'held' : 'draining';
}

/** The nearest deadline of the lease itself, if it has one. */
export function ownDeadline(lease: LeaseRecord): Instant | undefined {
  const drain = lease.drain?.deadlineAt;
  const hard = lease.hardDeadlineAt;
  if (drain === undefined) return hard;
  return hard === undefined || drain < hard ? drain : hard;
}
