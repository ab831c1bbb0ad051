// Executions that may kill their worker: which ones are suspect, when a worker tries one again, and
// which worker may (X-53 … X-56). Pure.

import { BEATS_PER_TTL, type SessionRecord } from '../../lease/session.ts';
import { type Instant, laterBy } from '../../support/clock.ts';

/** An execution is a suspect after this many lost claims in a row without progress. */
export const SUSPECT_FROM = 2;

/** A suspect waits for a multiple of the time that its last claim lasted, within these bounds. */
export const SUSPECT_WAIT = { times: 4, minMs: 1_000, maxMs: 300_000 } as const;

/**
 * The most that one claim looks at: sessions that run something, executions that dead sessions left,
 * and, on SQLite, suspects among these. It starts at a random one, so later claims look at the
 * others.
 */
export const CLAIM_SCAN_MAX = { sessions: 100, left: 500, suspects: 20 } as const;

/** The session that claims, and since when its process lives. */
export interface Claimer {
  readonly startedAt: Instant;
}

export function claimerOf(
  { openedAt }: Pick<SessionRecord, 'openedAt'>,
  livedMs: number | undefined,
  now: Instant,
): Claimer {
  return { startedAt: Math.min(openedAt, now - (livedMs ?? 0)) as Instant };
}

type Holder = Pick<SessionRecord, 'ttlMs' | 'beatAt' | 'end'>;

interface LostClaim {
  readonly claimedAt: Instant;
  readonly claimsWithoutProgress: number;
  /** The owner recorded an event after `claimed`. */
  readonly hasRecorded: boolean;
  /** The session that ended under the claim. Undefined if the store has deleted it. */
  readonly holder: Holder | undefined;
}

/** Counts this loss. */
export function isSuspect(lost: Pick<LostClaim, 'claimsWithoutProgress' | 'hasRecorded'>): boolean {
  return !lost.hasRecorded && lost.claimsWithoutProgress + 1 >= SUSPECT_FROM;
}

/** Every suspect waits for at least this long, so a younger session tries none. */
export function mayTryAny(self: Claimer, now: Instant): boolean {
  return now - self.startedAt >= SUSPECT_WAIT.minMs;
}

/**
 * A worker may try the suspect only after living this long without it. Its survival shows that
 * nothing else kills it.
 */
export function mayTry(
  lost: Pick<LostClaim, 'claimedAt' | 'holder'>,
  self: Claimer,
  now: Instant,
): boolean {
  const lostAt = lossAt(lost);
  const waitMs = suspectWaitMs(lostAt - lost.claimedAt);
  return now - lostAt >= waitMs && now - self.startedAt >= waitMs;
}

export function suspectWaitMs(lastedMs: number): number {
  const { times, minMs, maxMs } = SUSPECT_WAIT;
  return Math.min(maxMs, Math.max(minMs, times * lastedMs));
}

/** The latest time at which the owner died. */
function lossAt({ claimedAt, holder }: Pick<LostClaim, 'claimedAt' | 'holder'>): Instant {
  if (holder === undefined) return claimedAt;
  const { ttlMs, beatAt, end } = holder;
  // A session that was silent for longer had died before.
  const silentAt = laterBy(beatAt, Math.floor(ttlMs / BEATS_PER_TTL));
  const diedAt = Math.min(silentAt, end?.at ?? silentAt);
  return Math.max(claimedAt, diedAt) as Instant;
}

/**
 * A session tries one suspect at a time: until that has recorded an event, or has run for as long
 * as the session had lived.
 */
export function isTried(claim: Omit<LostClaim, 'holder'>, self: Claimer, now: Instant): boolean {
  const { claimedAt, claimsWithoutProgress, hasRecorded } = claim;
  if (hasRecorded || claimsWithoutProgress < SUSPECT_FROM) return false;
  return now - claimedAt < Math.min(claimedAt - self.startedAt, SUSPECT_WAIT.maxMs);
}
