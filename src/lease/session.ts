// Sessions
//
// A session proves that one process lives. It has one heartbeat and any number of leases. It ends
// once: by expiry, by its owner, or by an operator. While a parent is not alive, none of its
// descendants is, so ending a parent is one write (H-1).
//
//          heartbeat                 heartbeat = rejoin
//          ┌───────┐                 ┌──────────────┐
//   open ─▶│ alive │── lapse ──▶ lapsed ── expiry ──▶ overdue ── reclaim ──▶ ended
//          └───────┘  authority ends   no successor    still no successor
//
// A session is overdue by the clock, and ended by a stored record. Only the record lets a successor
// in: a comparison of clocks can race with a heartbeat, a record cannot (S-3).

import type { Instant } from '../support/clock.ts';
import type { Exit } from './exit.ts';
import { epochOf } from './fence.ts';
import type { Owner, SessionId } from './names.ts';

/** Heartbeats come every third of the ttl. */
export const BEATS_PER_TTL = 3;
/** The number of retries per ttl while a heartbeat gets no reply. */
export const RETRIES_PER_TTL = 20;

/** The stored record of a session. */
export interface SessionRecord {
  /** The id. */
  readonly id: SessionId;
  /** The name that operators see. */
  readonly owner: Owner;
  /** The ids of all ancestors from the root, then its own. */
  readonly path: readonly SessionId[];
  /** Milliseconds without a heartbeat until it expires. */
  readonly ttlMs: number;
  /** The last part of the ttl, without authority, in which it may rejoin. */
  readonly graceMs: number;
  /** Entries for operators. */
  readonly metadata: SessionMetadata;
  /** When it was opened. */
  readonly openedAt: Instant;
  /** When the store got the last heartbeat. */
  readonly beatAt: Instant;
  /** When it expires without another heartbeat. */
  readonly expiresAt: Instant;
  /** True if the store extended it after an outage and no heartbeat has come since. */
  readonly extended: boolean;
  /** Rises when the holder must check its leases. */
  readonly notices: number;
  /** How it ended, if it has. */
  readonly end?: SessionEnd;
}

/**
 * When the epoch rises, the notices of all live sessions rise by this number for each epoch. It is
 * more than the store can have forgotten, so no holder mistakes the new number for one that it
 * knows. A restored store may also forget raises; the next raise exceeds them all (T-4).
 */
export const NOTICES_PER_EPOCH = 1_000_000;

/** The increase of notices when the fences are raised. */
export function noticesOfRaise(lastIssued: number, origin: number): number {
  return (epochOf(origin) - epochOf(lastIssued)) * NOTICES_PER_EPOCH;
}

/** Names and texts that operators see with a session. */
export type SessionMetadata = Readonly<Record<string, string>>;

/**
 * A coordinator stores the session's project under this name. Each project has its own breaker
 * (E-8).
 */
export const PROJECT_METADATA = 'holdfast.project';

/** Sessions of a pool or a service have its name in their metadata. */
export const POOL_METADATA = 'holdfast.pool';
export const SERVICE_METADATA = 'holdfast.service';

export interface SessionEnd {
  readonly at: Instant;
  readonly exit: Exit;
  readonly cause?: string;
  /** The operator who forced the end. Absent if the owner or the clock ended it. */
  readonly actor?: string;
}

/** A session with all its ancestors, from the root to itself. */
export type SessionChain = readonly SessionRecord[];

/**
 * The state of a session.
 *
 * - `alive`: its leases have authority.
 * - `lapsed`: it missed heartbeats and may rejoin.
 * - `overdue`: its ttl is over, and the store has not recorded its end.
 * - `ended`: the store has recorded its end.
 */
export type SessionState = 'alive' | 'lapsed' | 'overdue' | 'ended';

export function lapsesAt(session: SessionRecord): Instant {
  return (session.expiresAt - session.graceMs) as Instant;
}

/** A chain has the worst state of its members. */
export function chainState(chain: SessionChain, now: Instant): SessionState {
  if (chain.length === 0 || chain.some((session) => session.end !== undefined)) return 'ended';
  if (chain.some((session) => session.expiresAt <= now)) return 'overdue';
  if (chain.some((session) => lapsesAt(session) <= now)) return 'lapsed';
  return 'alive';
}

/**
 * A place in the queue counts until this is false. An extension by the store is a chance to come
 * back, not a sign of life, so it does not count.
 */
export function keepsPlace(chain: SessionChain, now: Instant): boolean {
  return (
    chainState(chain, now) !== 'ended' &&
    chain.every((session) => session.beatAt + session.ttlMs > now)
  );
}

/** How long the chain has authority, at most; zero or less if it has none (H-2). */
export function authorityMs(chain: SessionChain, now: Instant): number {
  return Math.min(...chain.map((session) => lapsesAt(session) - now));
}

/** How long the chain may still rejoin, at most. */
export function remainingMs(chain: SessionChain, now: Instant): number {
  return Math.min(...chain.map((session) => session.expiresAt - now));
}

/**
 * The end that counts for the whole chain: the earliest one, or among equals the one nearest the
 * root.
 */
export function chainEnd(chain: SessionChain): SessionEnd | undefined {
  let first: SessionEnd | undefined;
  for (const { end } of chain) {
    if (end !== undefined && (first === undefined || end.at < first.at)) first = end;
  }
  return first;
}
