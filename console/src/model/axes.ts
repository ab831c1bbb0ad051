// Axes of charts: positions from 0 to 1, and round labels.

import { timeText } from './time-text.ts';

export interface Mark {
  readonly at: number;
  readonly label: string;
}

export interface ChartAxis {
  readonly place: (value: number) => number;
  readonly marks: readonly Mark[];
}

type Format = (value: number) => string;

const MARKS = 4;

/** From zero to a round number above the maximum. Counts have whole steps, so that each line has a label. */
export function valueAxis(max: number, format: Format, stepMin = 0): ChartAxis {
  const step = Math.max(stepMin, roundUp(Math.max(max, 1) / MARKS));
  const count = Math.max(1, Math.ceil(max / step));
  const top = step * count;
  return {
    place: (value) => value / top,
    marks: Array.from({ length: count + 1 }, (_, index) => ({
      ...{ at: index / count, label: format(step * index) },
    })),
  };
}

function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((each) => each * power >= value) ?? 10) * power;
}

/** Powers of ten. */
export function logAxis(values: readonly number[], format: Format): ChartAxis {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    place: (value) => (Math.log10(value) - from) / (to - from),
    marks: Array.from({ length: to - from + 1 }, (_, index) => ({
      ...{ at: index / (to - from), label: format(10 ** (from + index)) },
    })),
  };
}

const DAY_MS = 86_400_000;
const TIMES = 5;

export function momentText(ms: number, rangeMs: number): string {
  return timeText(rangeMs > DAY_MS ? 'dayMinute' : 'minute', ms);
}

/** Times at every fifth of the range. */
export function timeAxis(fromMs: number, toMs: number): ChartAxis {
  const width = Math.max(1, toMs - fromMs);
  return {
    place: (ms) => (ms - fromMs) / width,
    marks: Array.from({ length: TIMES }, (_, index) => {
      const at = (index + 0.5) / TIMES;
      return { at, label: momentText(fromMs + at * width, width) };
    }),
  };
}
