// Executions that may kill whoever runs them: which those are, when one is tried again, and by whom (X-53 … X-56). Pure.

import { BEATS_PER_TTL, type SessionRecord } from '../../lease/session.ts';
import { type Instant, laterBy } from '../../support/clock.ts';

/** Lost so many times in a row without progress, an execution is a suspect. */
export const SUSPECT_FROM = 2;

/** A suspect waits this many times as long as its last claim lasted, within these bounds. */
export const SUSPECT_WAIT = { times: 4, minMs: 1_000, maxMs: 300_000 } as const;

/** Who claims: since when it lives. */
export interface Claimer {
  readonly bornAt: Instant;
}

export function claimerOf(
  { openedAt }: Pick<SessionRecord, 'openedAt'>,
  livedMs: number | undefined,
  now: Instant,
): Claimer {
  return { bornAt: Math.min(openedAt, now - (livedMs ?? 0)) as Instant };
}

type Holder = Pick<SessionRecord, 'ttlMs' | 'beatAt' | 'end'>;

interface LostClaim {
  readonly claimedAt: Instant;
  readonly fruitlessClaims: number;
  /** Its owner recorded something after its `claimed` event. */
  readonly hasRecorded: boolean;
  /** The session that ended under it; undefined when it is deleted already. */
  readonly holder: Holder | undefined;
}

/** With this loss. */
export function isSuspect(lost: Pick<LostClaim, 'fruitlessClaims' | 'hasRecorded'>): boolean {
  return !lost.hasRecorded && lost.fruitlessClaims + 1 >= SUSPECT_FROM;
}

/** What a claimer must have lived through without the suspect: evidence that it dies of nothing else. */
export function mayTry(
  lost: Pick<LostClaim, 'claimedAt' | 'holder'>,
  self: Claimer,
  now: Instant,
): boolean {
  const lostAt = lossAt(lost);
  const waitMs = suspectWaitMs(lostAt - lost.claimedAt);
  return now - lostAt >= waitMs && now - self.bornAt >= waitMs;
}

export function suspectWaitMs(lastedMs: number): number {
  const { times, minMs, maxMs } = SUSPECT_WAIT;
  return Math.min(maxMs, Math.max(minMs, times * lastedMs));
}

/** When its owner died, at the latest. */
function lossAt({ claimedAt, holder }: Pick<LostClaim, 'claimedAt' | 'holder'>): Instant {
  if (holder === undefined) return claimedAt;
  const { ttlMs, beatAt, end } = holder;
  // Who was silent for longer had died before.
  const silentAt = laterBy(beatAt, Math.floor(ttlMs / BEATS_PER_TTL));
  const diedAt = Math.min(silentAt, end?.at ?? silentAt);
  return Math.max(claimedAt, diedAt) as Instant;
}

/** A session tries one suspect at a time: until that has recorded something, or run as long as the session had lived. */
export function isTried(claim: Omit<LostClaim, 'holder'>, self: Claimer, now: Instant): boolean {
  const { claimedAt, fruitlessClaims, hasRecorded } = claim;
  if (hasRecorded || fruitlessClaims < SUSPECT_FROM) return false;
  return now - claimedAt < Math.min(claimedAt - self.bornAt, SUSPECT_WAIT.maxMs);
}
