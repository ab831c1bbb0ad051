// Who may be declared expired. Pure. Everything that ends a session for being overdue asks here
// first, so that one rule protects against mass expiry (E-8): when most sessions stop at once, it
// is more likely the network or the store than all of them.

import { type Instant, laterBy } from '../support/clock.ts';
import type { LeasePolicy } from './policy.ts';

/** Of the sessions of one project, or of those of none: a project does not decide for another. */
export interface Census {
  /** Sessions not ended, the overdue ones among them. */
  readonly live: number;
  /** Overdue sessions that have not had their fair chance since their last heartbeat. */
  readonly overdueFresh: number;
  /** Sessions that were expired within the window. */
  readonly expiredInWindow: number;
}

export type ReclaimDecision =
  /** Expire everything that is overdue. */
  | { readonly kind: 'expire' }
  /**
   * Expire only the overdue that had their chance; give the others until `until`. Each session is
   * held back at most once per heartbeat, so the breaker always lets go.
   */
  | { readonly kind: 'hold'; readonly until: Instant };

export function decideReclaim(census: Census, policy: LeasePolicy, now: Instant): ReclaimDecision {
  const sessions = census.live + census.expiredInWindow;
  const expiring = census.overdueFresh + census.expiredInWindow;
  if (census.overdueFresh === 0 || sessions < policy.breakerSessionsMin) return { kind: 'expire' };
  if (expiring * 100 <= policy.breakerSharePercent * sessions) return { kind: 'expire' };
  return { kind: 'hold', until: laterBy(now, policy.breakerHoldMs) };
}

/** What the alarm says of those that are held back. */
export function causeOfHold(
  project: string | undefined,
  { overdueFresh, live }: Pick<Census, 'overdueFresh' | 'live'>,
): string {
  const whose = project === undefined ? '' : ` of project ${JSON.stringify(project)}`;
  return `${overdueFresh} of ${live} sessions${whose}`;
}

/** E-6: how far the fair chance after an outage reaches for a session with this ttl. */
export function fairChanceUntil(ttlMs: number, policy: LeasePolicy, now: Instant): Instant {
  return laterBy(now, Math.min(ttlMs, policy.recoveryGraceMs));
}
