// Authority: how long a holder may act, by its own clocks.
//
// The store grants a stretch of time; the holder counts it from *before* the request that was
// answered left (C-3), on whichever of its two clocks ran further (C-4): the monotonic one stands
// still while the machine is suspended and the wall clock may be set, and the larger of the two
// errs only towards giving up early. Checking is synchronous (C-5): after a pause the first line of
// code that runs can ask, and no timer has to have fired before.

import type { Clock } from '../support/clock.ts';

/** Both clocks at one moment. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

export function elapsedMs(since: Moment, now: Moment): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

/** How far clock rates may differ, and what is kept back for what the model does not see. */
export interface Caution {
  /** Parts per million by which the holder's clock rate may differ from the store's. */
  readonly driftPpm: number;
  readonly guardMs: number;
}

/** Usual bound on how fast a disciplined clock is slewed. */
export const DRIFT_PPM_DEFAULT = 500;

export class Authority {
  readonly #clock: Clock;
  readonly #sentAt: Moment;
  readonly #usableMs: number;

  /** `grantedMs`, as the store said it, counted from `sentAt`, less drift and guard. */
  constructor(
    clock: Clock,
    grant: { readonly sentAt: Moment; readonly grantedMs: number },
    caution: Caution,
  ) {
    const rho = caution.driftPpm / 1_000_000;
    this.#clock = clock;
    this.#sentAt = grant.sentAt;
    this.#usableMs = (grant.grantedMs * (1 - rho)) / (1 + rho) - caution.guardMs;
  }

  /** What is left; zero or less when it is over. Never grows between two calls. */
  remainingMs(): number {
    return this.#usableMs - elapsedMs(this.#sentAt, momentOf(this.#clock));
  }
}
