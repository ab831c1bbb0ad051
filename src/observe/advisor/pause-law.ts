// The rate at which a holder pauses for longer than x: busy loops, stopped processes, suspended
// machines, unavailable stores. For frequent lengths it uses the counts. Beyond that, it fits a
// generalised Pareto tail above a high threshold. With too few pauses for a fit, it uses the
// one-sided Chebyshev (Cantelli) bound, which holds for every distribution with that mean and
// variance. A few pauses show little about their variance, and none show nothing. Then it assumes
// the variance of the longest pauses that could be overlooked, and the interval stays as wide as
// the observed time makes it.

import { PAUSE_MS_MIN } from './observations.ts';
import { type Estimate, estimateRate, exactly } from './rate.ts';

const TAIL_SHARE = 0.05;
/** With fewer pauses than this, anything longer than all of them is a guess. */
export const TAIL_MIN = 20;
/** With this many longer pauses, the counts suffice without a distribution. */
const COUNT_ENOUGH = 10;
/** With few points, the shape is pulled towards this value, a little heavier than exponential. */
const USUAL_SHAPE = { value: 0.1, weight: 20 } as const;

/**
 * The distribution of pauses that are longer than those that were recorded often.
 *
 * @example
 * const { tail } = modelOf(observationsOf([])).pauses;
 * console.log(tail.survival(10_000));
 */
export interface Tail {
  /** `pareto`: a fitted tail. `cantelli`: a bound for any distribution. `assumed`: given by you. */
  readonly kind: 'pareto' | 'cantelli' | 'assumed';
  /** Milliseconds from which the tail applies. */
  readonly threshold: number;
  /**
   * Returns the fraction of pauses that are longer than `x` milliseconds, for `x` above the
   * threshold.
   */
  survival(x: number): number;
  /** Returns the greatest value that the fraction may have. Absent if no distribution gives one. */
  survivalMost?(x: number): number;
}

/**
 * How often holders pause.
 *
 * @example
 * const { pauses } = modelOf(observationsOf([]));
 * console.log(pauses.perHour(10_000).mean);
 */
export interface PauseRates {
  /** The number of recorded pauses. */
  readonly count: number;
  /** The distribution of long pauses. */
  readonly tail: Tail;
  /** Returns how many pauses per hour are longer than `x` milliseconds. */
  perHour(x: number): Estimate;
  /** Returns the length in milliseconds that pauses exceed this often per hour. */
  lengthAt(perHour: number): number;
  /** Returns the same rates at the lower ends of their intervals. */
  atLeast(): PauseRates;
}

/**
 * How often holders pause, estimated from recorded pauses.
 *
 * @example
 * const { pauses } = modelOf(observationsOf([]));
 * console.log(pauses.lengthAt(0.1));
 */
export class PauseLaw implements PauseRates {
  /** The hours in which the pauses were recorded. */
  readonly observedHours: number;
  readonly #sorted: readonly number[];
  readonly #tail: Tail;

  /** `pauses` in milliseconds, from `observedHours` of holding. */
  constructor(pauses: readonly number[], observedHours: number) {
    this.observedHours = observedHours;
    this.#sorted = [...pauses].sort((a, b) => a - b);
    this.#tail = fitTail(this.#sorted);
  }

  /** The number of recorded pauses. */
  get count(): number {
    return this.#sorted.length;
  }

  /** The distribution of long pauses. */
  get tail(): Tail {
    return this.#tail;
  }

  /** Returns how many pauses per hour are longer than `x` milliseconds. */
  perHour(x: number): Estimate {
    const seen = this.#countAbove(x);
    const counted = estimateRate(seen, this.observedHours);
    const tail = this.#tail;
    if (x <= tail.threshold || seen >= COUNT_ENOUGH) return counted;
    const above = estimateRate(this.#countAbove(tail.threshold), this.observedHours);
    const share = tail.survival(x) / Math.max(tail.survival(tail.threshold), Number.MIN_VALUE);
    // The counts also give an upper bound, because longer pauses never occurred in that time.
    // Without a distribution, it is the only one.
    const fitted = above.high * (tail.survivalMost?.(x) ?? Number.POSITIVE_INFINITY) * 2;
    return {
      mean: above.mean * share,
      low: Math.min(above.low * share, counted.low),
      high: Math.max(above.mean * share, Math.min(fitted, counted.high)),
    };
  }

  /** Returns the same rates at the lower ends of their intervals. */
  atLeast(): PauseRates {
    const { count, tail } = this;
    const perHour = (x: number): Estimate => exactly(this.perHour(x).low);
    const least: PauseRates = {
      count,
      tail,
      perHour,
      lengthAt: (wanted) => lengthAt(perHour, wanted, this.#longest),
      atLeast: () => least,
    };
    return least;
  }

  get #longest(): number {
    return this.#sorted.at(-1) ?? 1;
  }

  /** Returns the length in milliseconds that pauses exceed this often per hour. */
  lengthAt(perHour: number): number {
    return lengthAt((x) => this.perHour(x), perHour, this.#longest);
  }

  #countAbove(x: number): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] ?? 0) <= x) low = middle + 1;
      else high = middle;
    }
    return this.#sorted.length - low;
  }
}

function lengthAt(rate: (x: number) => Estimate, perHour: number, longest: number): number {
  let low = 0;
  let high = Math.max(1, longest);
  while (rate(high).mean > perHour && high < 1e9) high *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (rate(middle).mean > perHour) low = middle;
    else high = middle;
  }
  return high;
}

export function fitTail(sorted: readonly number[]): Tail {
  const exceeding = Math.max(TAIL_MIN, Math.floor(sorted.length * TAIL_SHARE));
  const threshold = sorted[sorted.length - exceeding - 1];
  if (threshold === undefined) return cantelli(sorted.length === 0 ? [PAUSE_MS_MIN] : sorted);
  const excess = sorted.slice(-exceeding).map((value) => value - threshold);
  return pareto(threshold, excess) ?? cantelli(sorted);
}

/** Fits by probability-weighted moments (Hosking and Wallis), which stay stable with few points. */
function pareto(threshold: number, excess: readonly number[]): Tail | undefined {
  const count = excess.length;
  const first = excess.reduce((total, value) => total + value, 0) / count;
  const second =
    excess.reduce((total, value, index) => total + (1 - (index + 0.65) / count) * value, 0) / count;
  if (first <= 0 || first <= 2 * second) return undefined;
  const fitted = 2 - first / (first - 2 * second);
  const { value, weight } = USUAL_SHAPE;
  const shape = Math.min(Math.max((count * fitted + weight * value) / (count + weight), -0.5), 0.9);
  const scale = first * (1 - shape);
  const survival = (x: number): number => {
    const y = (x - threshold) / scale;
    if (y <= 0) return 1;
    if (Math.abs(shape) < 1e-6) return Math.exp(-y);
    return Math.max(0, 1 + shape * y) ** (-1 / shape);
  };
  // A fitted distribution with an upper end does not prove that there is one.
  const survivalMost = (x: number): number =>
    Math.max(survival(x), Math.exp(-Math.max(0, x - threshold) / first));
  return { kind: 'pareto', threshold, survival, survivalMost };
}

function cantelli(sorted: readonly number[]): Tail {
  const mean = sorted.reduce((total, value) => total + value, 0) / sorted.length;
  const spread =
    sorted.reduce((total, value) => total + (value - mean) ** 2, 0) /
    Math.max(1, sorted.length - 1);
  // Pauses that happen to be equal do not make a longer one impossible.
  const variance = Math.max(spread, mean ** 2 / sorted.length);
  return {
    kind: 'cantelli',
    threshold: mean,
    survival: (x) => (x <= mean ? 1 : variance / (variance + (x - mean) ** 2)),
  };
}
