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

export interface LeaseRecord {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly session: SessionId;
  readonly owner: Owner;
  readonly attempt: AttemptId;
  /** Rises with every change of the record; for watchers only. */
  readonly rev: number;
  readonly grantedAt: Instant;
  /** Caps the whole tenure, however often the session is renewed. */
  readonly hardDeadlineAt?: Instant;
  readonly drain?: Drain;
  readonly end?: TermEnd;
  readonly predecessor: Predecessor;
  readonly checkpoint?: Checkpoint;
  /** One back, so that a checkpoint that breaks its readers can be undone (K-5). */
  readonly checkpointBefore?: Checkpoint;
  /** Terms that expired since the checkpoint last advanced. */
  readonly lossesSinceCheckpoint: number;
  readonly intents: readonly Intent[];
  readonly reservation?: Reservation;
}

export interface TermEnd {
  readonly at: Instant;
  readonly exit: Exit;
  readonly cause?: string;
  readonly actor?: string;
  readonly request?: RequestId;
}

export interface Predecessor {
  readonly exit: Exit;
  readonly owner?: Owner;
  readonly fence?: Fence;
  readonly endedAt?: Instant;
  readonly cause?: string;
  readonly actor?: string;
}

export interface Checkpoint {
  readonly seq: number;
  readonly bytes: Uint8Array;
  readonly digest: string;
  /** The term that wrote it. */
  readonly fence: Fence;
  readonly at: Instant;
  /** What the bytes are, in the caller's words: a media type, a schema version. */
  readonly type?: string;
}

/** An external effect that is about to happen, or may have. */
export interface Intent {
  readonly effect: EffectId;
  readonly fence: Fence;
  readonly begunAt: Instant;
  readonly note?: string;
}

export interface Drain {
  readonly request: RequestId;
  readonly by: string;
  readonly reason: string;
  readonly requestedAt: Instant;
  readonly deadlineAt: Instant;
  readonly successor?: Owner;
}

/** After a yield to a named successor, no other owner may enter for a short while (V-5). */
export interface Reservation {
  readonly for: Owner;
  readonly until: Instant;
}

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
  // A record held by an unknown session is over, not immortal (E-5).
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
