// Flap damping (G-4). It keeps an owner that repeatedly loses a key by expiry from that key for a
// while, so that a steadier owner gets it. It is a leaky bucket in one number: each loss adds a
// unit of time, and above two units the owner waits. It uses whole numbers only, so that all stores
// agree.

import type { Instant } from '../support/clock.ts';
import type { LeasePolicy } from './policy.ts';

/** The third loss in quick succession damps. Damping lasts two units at most. */
export const UNITS_FREE = 2;
const UNITS_MAX = 4;

export function chargeFlap(until: Instant | undefined, policy: LeasePolicy, now: Instant): Instant {
  const unit = policy.flapUnitMs;
  return Math.min(Math.max(until ?? now, now) + unit, now + UNITS_MAX * unit) as Instant;
}

/** The time that the owner must wait; zero or less if it need not. */
export function dampedForMs(until: Instant | undefined, policy: LeasePolicy, now: Instant): number {
  if (until === undefined || policy.flapUnitMs === 0) return 0;
  return until - now - UNITS_FREE * policy.flapUnitMs;
}
