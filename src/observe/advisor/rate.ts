// A rate from k events in t hours. With few events, the number alone means little. So it comes with
// its 90 % interval: the gamma posterior of k + ½.

import { assert } from '../../support/assert.ts';

export const HOUR_MS = 3_600_000;

/** A rate and the interval that it is in, nine times out of ten. */
export interface Estimate {
  /** The expected value. */
  readonly mean: number;
  /** The lower end of the interval. */
  readonly low: number;
  /** The upper end of the interval. */
  readonly high: number;
}

export function estimateRate(events: number, exposure: number): Estimate {
  const { low, high } = intervalOf(events);
  return { mean: (events + 0.5) / exposure, low: low / exposure, high: high / exposure };
}

interface Interval {
  readonly low: number;
  readonly high: number;
}

const REMEMBERED_MAX = 1_000;
/** A search asks for the same few event counts thousands of times. */
const remembered: Map<number, Interval> = new Map();

function intervalOf(events: number): Interval {
  const known = remembered.get(events);
  if (known !== undefined) return known;
  const shape = events + 0.5;
  if (events > REMEMBERED_MAX) return { low: cubeRoot(shape, -1), high: cubeRoot(shape, 1) };
  const interval = { low: gammaQuantile(shape, 0.05), high: gammaQuantile(shape, 0.95) };
  remembered.set(events, interval);
  return interval;
}

/** Wilson and Hilferty: with many events, the cube root of a gamma variable is nearly normal. */
function cubeRoot(shape: number, side: 1 | -1): number {
  const spread = 1 / (9 * shape);
  return shape * (1 - spread + side * 1.6448536269514722 * Math.sqrt(spread)) ** 3;
}

/** If the ends of an interval differ by more than this factor, the number is no evidence. */
export const SPREAD_MAX = 4;

export function spreadOf({ low, high }: Estimate): number {
  return high === low ? 1 : high / low;
}

/** The number of events after which the interval is narrow enough. */
export const EVENTS_ENOUGH = 6;

export function exactly(value: number): Estimate {
  return { mean: value, low: value, high: value };
}

export function scaled(estimate: Estimate, factor: number): Estimate {
  return { mean: estimate.mean * factor, low: estimate.low * factor, high: estimate.high * factor };
}

export function sum(a: Estimate, b: Estimate): Estimate {
  return { mean: a.mean + b.mean, low: a.low + b.low, high: a.high + b.high };
}

// The gamma function and related ones, as far as rates with few events need them.

const LANCZOS: readonly number[] = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
];

/** ln Γ(x) for x > 0: Lanczos' approximation, accurate to about 15 digits. */
export function lnGamma(x: number): number {
  assert(x > 0, `lnGamma is for positive numbers, got ${x}`);
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - lnGamma(1 - x);
  const shifted = x - 1;
  let sum = LANCZOS[0] ?? 0;
  for (const [index, coefficient] of LANCZOS.entries()) {
    if (index > 0) sum += coefficient / (shifted + index);
  }
  const t = shifted + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(t) - t + Math.log(sum);
}

const STEPS_MAX = 1_000;
const PRECISION = 1e-15;

/** P(a, x): the share of a gamma distribution with shape a and scale 1 that is below x. */
export function gammaBelow(a: number, x: number): number {
  if (x <= 0) return 0;
  const front = Math.exp(a * Math.log(x) - x - lnGamma(a));
  return x < a + 1 ? front * lowerSeries(a, x) : 1 - front * upperFraction(a, x);
}

function lowerSeries(a: number, x: number): number {
  let term = 1 / a;
  let sum = term;
  for (let step = 1; step < STEPS_MAX && Math.abs(term) > Math.abs(sum) * PRECISION; step += 1) {
    term *= x / (a + step);
    sum += term;
  }
  return sum;
}

/** Lentz's continued fraction for the part above x. */
function upperFraction(a: number, x: number): number {
  const tiny = 1e-300;
  let b = x + 1 - a;
  let c = 1 / tiny;
  let d = 1 / b;
  let product = d;
  for (let step = 1; step < STEPS_MAX; step += 1) {
    const coefficient = -step * (step - a);
    b += 2;
    d = 1 / nonZero(coefficient * d + b, tiny);
    c = nonZero(b + coefficient / c, tiny);
    const factor = d * c;
    product *= factor;
    if (Math.abs(factor - 1) < PRECISION) break;
  }
  return product;
}

function nonZero(value: number, tiny: number): number {
  return Math.abs(value) < tiny ? tiny : value;
}

/** The x with P(a, x) = share. */
export function gammaQuantile(a: number, share: number): number {
  assert(share > 0 && share < 1, `a share lies between 0 and 1, got ${share}`);
  let low = 0;
  let high = Math.max(1, a);
  while (gammaBelow(a, high) < share) high *= 2;
  for (let step = 0; step < 200 && high - low > 1e-12 * high; step += 1) {
    const middle = (low + high) / 2;
    if (gammaBelow(a, middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
