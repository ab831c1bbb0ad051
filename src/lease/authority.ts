// Authority: how long a holder may act, by its own clocks.
//
// The store grants a duration. The holder counts it from *before* its request left (C-3), on the
// clock that ran further (C-4). The monotonic clock stands still during a suspend, and the wall
// clock may be set back. The larger of the two can only make the holder stop too early. The check
// is synchronous (C-5): after a pause, the first line of code can check, and no timer needs to have
// fired.

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

/** The allowance for clock rates, and a guard for errors outside this model. */
export interface Caution {
  /** Parts per million by which the holder's clock rate may differ from the store's. */
  readonly driftPpm: number;
  readonly guardMs: number;
}

/** The usual limit of clock slewing. */
export const DRIFT_PPM_DEFAULT = 500;

export class Authority {
  readonly #clock: Clock;
  readonly #sentAt: Moment;
  readonly #usableMs: number;

  /** Counts `grantedMs`, as the store granted it, from `sentAt`, less drift and guard. */
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

  /** The remaining time; zero or less when it is over. It never grows between two calls. */
  remainingMs(): number {
    return this.#usableMs - elapsedMs(this.#sentAt, momentOf(this.#clock));
  }
}
