// Decides which sessions may expire. Pure. All code that expires overdue sessions calls it first,
// so that one rule protects against mass expiry (E-8). If most sessions stop at once, the network
// or the store is the more likely cause.

import { type Instant, laterBy } from '../support/clock.ts';
import type { LeasePolicy } from './policy.ts';

/** Counts for the sessions of one project, or of none, because no project decides for another. */
export interface Census {
  /** Sessions that have not ended, including overdue ones. */
  readonly live: number;
  /** Overdue sessions without a fair chance since their last heartbeat. */
  readonly overdueFresh: number;
  /** Sessions that expired within the window. */
  readonly expiredInWindow: number;
}

export type ReclaimDecision =
  /** Expire all overdue sessions. */
  | { readonly kind: 'expire' }
  /**
   * Expire only overdue sessions that had their chance, and extend the others to `until`. Each
   * session is held back at most once per heartbeat, so the breaker never delays it twice.
   */
  | { readonly kind: 'hold'; readonly until: Instant };

export function decideReclaim(census: Census, policy: LeasePolicy, now: Instant): ReclaimDecision {
  const sessions = census.live + census.expiredInWindow;
  const expiring = census.overdueFresh + census.expiredInWindow;
  if (census.overdueFresh === 0 || sessions < policy.breakerSessionsMin) return { kind: 'expire' };
  if (expiring * 100 <= policy.breakerSharePercent * sessions) return { kind: 'expire' };
  return { kind: 'hold', until: laterBy(now, policy.breakerHoldMs) };
}

/** The cause in the alarm about sessions that were held back. */
export function causeOfHold(
  project: string | undefined,
  { overdueFresh, live }: Pick<Census, 'overdueFresh' | 'live'>,
): string {
  const whose = project === undefined ? '' : ` of project ${JSON.stringify(project)}`;
  return `${overdueFresh} of ${live} sessions${whose}`;
}

/** The end of the fair chance after an outage, for a session with this ttl (E-6). */
export function fairChanceUntil(ttlMs: number, policy: LeasePolicy, now: Instant): Instant {
  return laterBy(now, Math.min(ttlMs, policy.recoveryGraceMs));
}
