// The overview's charts, from the newest executions: submitted, ended and durations over time. Pure.

import { quantile } from './words.ts';

export interface ChartedExecution {
  readonly status: string;
  readonly lane: string;
  readonly submittedAt: string;
  readonly endedAt?: string | undefined;
}

export interface Pulse {
  /** The start of each interval, in seconds since 1970. */
  readonly times: readonly number[];
  readonly submitted: readonly number[];
  readonly ended: readonly number[];
  /** Durations in milliseconds of the executions that ended in each interval. */
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
}

const INTERVALS = 60;
/** Round interval lengths, in milliseconds. */
const WIDTHS_MS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 43_200, 86_400,
].map((seconds) => seconds * 1_000);

export function pulseOf(executions: readonly ChartedExecution[], nowMs: number): Pulse {
  const oldest = Math.min(nowMs, ...executions.map(({ submittedAt }) => Date.parse(submittedAt)));
  const wanted = (nowMs - oldest) / INTERVALS;
  const width = WIDTHS_MS.find((each) => each >= wanted) ?? 86_400_000;
  const last = Math.floor(nowMs / width);
  const count = Math.min(INTERVALS, Math.max(12, last - Math.floor(oldest / width) + 1));
  const first = last - count + 1;
  const submitted = new Array<number>(count).fill(0);
  const took: number[][] = Array.from({ length: count }, () => []);
  for (const { submittedAt, endedAt } of executions) {
    const from = Date.parse(submittedAt);
    const at = Math.floor(from / width) - first;
    if (at >= 0 && at < count) submitted[at] = (submitted[at] ?? 0) + 1;
    if (endedAt !== undefined) {
      took[Math.floor(Date.parse(endedAt) / width) - first]?.push(Date.parse(endedAt) - from);
    }
  }
  for (const each of took) each.sort((one, other) => one - other);
  return {
    times: submitted.map((_, index) => ((first + index) * width) / 1_000),
    submitted,
    ended: took.map((each) => each.length),
    p50: took.map((each) => quantile(each, 0.5) ?? null),
    p95: took.map((each) => quantile(each, 0.95) ?? null),
  };
}
