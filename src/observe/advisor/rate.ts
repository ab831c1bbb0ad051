// A rate that was seen k times in t hours. With few events the number itself says little, so it
// travels with the interval that it lies in nine times out of ten: the gamma posterior of k + ½.

import { gammaQuantile } from './special-functions.ts';

export interface Estimate {
  readonly mean: number;
  /** Nine times out of ten it lies between these. */
  readonly low: number;
  readonly high: number;
}

export function rateOf(events: number, exposure: number): Estimate {
  const { low, high } = intervalOf(events);
  return { mean: (events + 0.5) / exposure, low: low / exposure, high: high / exposure };
}

interface Interval {
  readonly low: number;
  readonly high: number;
}

const REMEMBERED_MAX = 1_000;
/** A search asks for the same few numbers of events thousands of times. */
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

/** Wilson and Hilferty: the cube root of a gamma variable is nearly normal when there are many. */
function cubeRoot(shape: number, side: 1 | -1): number {
  const spread = 1 / (9 * shape);
  return shape * (1 - spread + side * 1.6448536269514722 * Math.sqrt(spread)) ** 3;
}

/** Beyond this factor between the ends of an interval a number is no evidence. */
export const SPREAD_MAX = 4;

export function spreadOf({ low, high }: Estimate): number {
  return high === low ? 1 : high / low;
}

/** Events needed before the interval is narrow enough. */
export const EVENTS_ENOUGH = 6;

export function exactly(value: number): Estimate {
  return { mean: value, low: value, high: value };
}

export function scaled(estimate: Estimate, factor: number): Estimate {
  return {
    mean: estimate.mean * factor,
    low: estimate.low * factor,
    high: estimate.high * factor,
  };
}

export function sum(a: Estimate, b: Estimate): Estimate {
  return { mean: a.mean + b.mean, low: a.low + b.low, high: a.high + b.high };
}
