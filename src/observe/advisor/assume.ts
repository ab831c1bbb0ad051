// A world that somebody describes instead of having recorded it: rates that are taken as they are given, so that
// nothing is uncertain but whether they are right.

import { type Advice, adviseOn } from './advise.ts';
import { checkedGoals, type Goals } from './goals.ts';
import type { LeaseModel } from './model.ts';
import type { PauseRates } from './pause-law.ts';
import { exactly } from './rate.ts';
import { BEATS_PER_TTL, defaultGuardMs } from './settings.ts';

export interface Assumptions {
  /** What sessions are opened with now. */
  readonly ttlMs: number;
  readonly graceMs: number;
  /** From sending a heartbeat to its answer: usually, and one in a thousand. */
  readonly roundTripMs: number;
  readonly roundTripTailMs: number;
  /** Of a thousand heartbeats so many have no answer. */
  readonly failuresPer1000: number;
  /** How often a holder stands still, and for how long on average. */
  readonly pausesPerDay: number;
  readonly pauseMs: number;
  /** How often a holder dies. */
  readonly crashesPerMonth: number;
}

const HOURS_PER_DAY = 24;
const HOURS_PER_MONTH = 730;
const DRIFT_PPM = 500;
/** Where a normal law has its 99.9th percentile, in standard deviations. */
const TAIL_DEVIATIONS = 3.09;

export function adviseAssuming(assumed: Assumptions, wanted: Goals): Advice {
  const { ttlMs, graceMs } = assumed;
  const current = {
    ...{ ttlMs, graceMs, heartbeatMs: ttlMs / BEATS_PER_TTL },
    guardMs: defaultGuardMs(ttlMs),
  };
  return adviseOn({ model: assumedModel(assumed), current, goals: checkedGoals(wanted) });
}

export function assumedModel(assumed: Assumptions): LeaseModel {
  const { ttlMs, roundTripMs, roundTripTailMs, failuresPer1000 } = assumed;
  return {
    renewals: Number.POSITIVE_INFINITY,
    failure: exactly(Math.min(0.99, failuresPer1000 / 1_000)),
    roundTripMs,
    roundTripTailMs,
    roundTripVarianceMs2: ((roundTripTailMs - roundTripMs) / TAIL_DEVIATIONS) ** 2,
    // A try that has no answer ends with its time limit, which grows with the ttl.
    failedTripMs: (wanted) => Math.max(roundTripMs, (roundTripTailMs * wanted) / ttlMs),
    pauses: new AssumedPauses(assumed.pausesPerDay / HOURS_PER_DAY, assumed.pauseMs),
    crashes: Number.POSITIVE_INFINITY,
    crashesPerHour: exactly(assumed.crashesPerMonth / HOURS_PER_MONTH),
    takeoverDelayMs: 1 + roundTripMs,
    checkpointCostMs: undefined,
    overrunMs: undefined,
    leasesPerSession: 1,
    driftPpm: DRIFT_PPM,
    sessionHours: Number.POSITIVE_INFINITY,
  };
}

/** Exponential: the law that knows a mean and nothing else. */
class AssumedPauses implements PauseRates {
  readonly count: number = Number.POSITIVE_INFINITY;
  readonly tail: PauseRates['tail'];
  readonly #perHour: number;
  readonly #meanMs: number;

  constructor(perHour: number, meanMs: number) {
    this.#perHour = perHour;
    this.#meanMs = meanMs;
    const survival = (ms: number): number => Math.exp(-ms / meanMs);
    this.tail = { kind: 'assumed', threshold: 0, survival };
  }

  perHour(ms: number): ReturnType<PauseRates['perHour']> {
    return exactly(this.#perHour * this.tail.survival(ms));
  }

  lengthAt(perHour: number): number {
    return Math.max(0, this.#meanMs * Math.log(this.#perHour / perHour));
  }

  atLeast(): PauseRates {
    return this;
  }
}
