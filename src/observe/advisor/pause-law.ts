// How often a holder stops for longer than x: busy loops, stopped processes, suspended machines,
// stores that are away. Up to what was seen often the counts speak; beyond that a generalised Pareto
// tail is fitted above a high threshold, and when there is too little for that, the one-sided
// Chebyshev (Cantelli) bound takes its place, which holds for every law with that mean and variance.

import { type Estimate, rateOf } from './rate.ts';

const TAIL_SHARE = 0.05;
const TAIL_MIN = 20;
/** So many longer ones were seen that no law is needed. */
const COUNT_ENOUGH = 10;
/** With few points the shape is pulled towards this: a little heavier than exponential. */
const USUAL_SHAPE = { value: 0.1, weight: 20 } as const;

export interface Tail {
  readonly kind: 'pareto' | 'cantelli';
  readonly threshold: number;
  /** Share of pauses longer than x, for x at or above the threshold. */
  survival(x: number): number;
}

export class PauseLaw {
  readonly observedHours: number;
  readonly #sorted: readonly number[];
  readonly #tail: Tail | undefined;

  /** `pauses` in milliseconds, from `observedHours` of holding. */
  constructor(pauses: readonly number[], observedHours: number) {
    this.observedHours = observedHours;
    this.#sorted = [...pauses].sort((a, b) => a - b);
    this.#tail = fitTail(this.#sorted);
  }

  get count(): number {
    return this.#sorted.length;
  }

  get tail(): Tail | undefined {
    return this.#tail;
  }

  /** Pauses longer than x, per hour of holding. */
  perHour(x: number): Estimate {
    const seen = this.#countAbove(x);
    const counted = rateOf(seen, this.observedHours);
    const tail = this.#tail;
    if (tail === undefined || x <= tail.threshold || seen >= COUNT_ENOUGH) return counted;
    const above = rateOf(this.#countAbove(tail.threshold), this.observedHours);
    const share = tail.survival(x) / Math.max(tail.survival(tail.threshold), Number.MIN_VALUE);
    return {
      mean: above.mean * share,
      low: Math.min(above.low * share, counted.low),
      // What was never seen in all that time bounds it from above as well.
      high: Math.max(above.mean * share, Math.min(above.high * share * 2, counted.high)),
    };
  }

  /** The pause that is exceeded this often per hour. */
  lengthAt(perHour: number): number {
    let low = 0;
    let high = Math.max(1, this.#sorted.at(-1) ?? 1);
    while (this.perHour(high).mean > perHour && high < 1e9) high *= 2;
    for (let step = 0; step < 60; step += 1) {
      const middle = (low + high) / 2;
      if (this.perHour(middle).mean > perHour) low = middle;
      else high = middle;
    }
    return high;
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

export function fitTail(sorted: readonly number[]): Tail | undefined {
  const exceeding = Math.max(TAIL_MIN, Math.floor(sorted.length * TAIL_SHARE));
  const threshold = sorted[sorted.length - exceeding - 1];
  if (threshold === undefined) return sorted.length === 0 ? undefined : cantelli(sorted);
  const excess = sorted.slice(-exceeding).map((value) => value - threshold);
  return pareto(threshold, excess) ?? cantelli(sorted);
}

/** By probability-weighted moments (Hosking and Wallis), which stay calm with few points. */
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
  return { kind: 'pareto', threshold, survival };
}

function cantelli(sorted: readonly number[]): Tail {
  const mean = sorted.reduce((total, value) => total + value, 0) / sorted.length;
  const variance =
    sorted.reduce((total, value) => total + (value - mean) ** 2, 0) /
    Math.max(1, sorted.length - 1);
  return {
    kind: 'cantelli',
    threshold: mean,
    survival: (x) => (x <= mean ? 1 : variance / (variance + (x - mean) ** 2)),
  };
}
