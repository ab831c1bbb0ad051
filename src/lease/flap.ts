// Flap damping (G-4): an owner that keeps losing a key by expiry is kept from it for a while, so
// that a steadier one gets it. A leaky bucket in one number: each loss adds a unit of time that
// must pass; above two units the owner waits. Whole numbers only, so all stores agree.

import type { Instant } from '../support/clock.ts';
import type { LeasePolicy } from './policy.ts';

/** The third loss in quick succession damps; nobody is damped for longer than two units. */
export const UNITS_FREE = 2;
const UNITS_MAX = 4;

export function chargeFlap(until: Instant | undefined, policy: LeasePolicy, now: Instant): Instant {
  const unit = policy.flapUnitMs;
  return Math.min(Math.max(until ?? now, now) + unit, now + UNITS_MAX * unit) as Instant;
}

/** How long the owner must wait; zero or less when it need not. */
export function dampedForMs(until: Instant | undefined, policy: LeasePolicy, now: Instant): number {
  if (until === undefined || policy.flapUnitMs === 0) return 0;
  return until - now - UNITS_FREE * policy.flapUnitMs;
}
