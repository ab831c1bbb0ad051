// Figures of a project for operators: what is open, what failed, and how fast executions ended.
// Nothing depends on them.

import type { Status, TerminalStatus } from '../../execution/execution.ts';
import type { ExecutionId, PipelineName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

/** Counts are exact up to this many. */
export const COUNT_MAX = 10_000;

/** `capped`: there are more than `count`. */
export interface Count {
  readonly count: number;
  readonly capped: boolean;
}

export interface PipelineCounts {
  readonly pipeline: PipelineName;
  /** Absent for executions without a pin. */
  readonly release?: string;
  /** Absent statuses have no executions. */
  readonly statuses: Readonly<Partial<Record<Status, Count>>>;
  /** Executions that a worker could claim now, ignoring the limits of their keys. */
  readonly ready: Count;
  /** Since when the longest waiting of these has been ready. */
  readonly oldestReadyAt?: Instant;
  /** Executions with the hold `blocked`, which their status counts too. Absent if none was counted. */
  readonly blocked?: Count;
}

/** Open dead letters with one pipeline, one code and steps whose names differ only in digits. */
export interface FailureCause {
  readonly pipeline: PipelineName;
  readonly code: string;
  /** The name of the steps, with `*` for digits. Absent if no step failed. */
  readonly step?: string;
  readonly count: number;
  /** Those of the last hour. */
  readonly lastHour: number;
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  /** The newest of them. */
  readonly newest: ExecutionId;
  /** The message of the newest. */
  readonly message: string;
}

export interface OpenDeadLetters extends Count {
  /** Those of quarantined executions. */
  readonly quarantined: Count;
  /** Those of the last hour. */
  readonly lastHour: Count;
  readonly causes: readonly FailureCause[];
}

export interface OpenQuestions {
  readonly open: Count;
  /** Those whose time limit has passed. */
  readonly overdue: Count;
  /** The next time limit of an open question. */
  readonly nextDueAt?: Instant;
}

export interface Figures {
  /** Store time. */
  readonly at: Instant;
  readonly pipelines: readonly PipelineCounts[];
  readonly deadLetters: OpenDeadLetters;
  readonly questions: OpenQuestions;
}

/** `charge#1` and `charge#2` are one place in the code, and so are `row-5` and `row-6`. */
export function stepFamily(step: string): string {
  return step
    .replace(/^[a-z]+:/, '')
    .replace(/#\d+(\[\d+\])?$/, '')
    .replaceAll(/\d+/g, '*');
}

export function countUpTo(count: number, max: number = COUNT_MAX): Count {
  return { count: Math.min(count, max), capped: count > max };
}

export function sumOf(counts: readonly (Count | undefined)[]): Count {
  const known = counts.filter((each) => each !== undefined);
  return {
    count: known.reduce((sum, { count }) => sum + count, 0),
    capped: known.some(({ capped }) => capped),
  };
}

export function blockedIn({
  pipelines,
}: {
  readonly pipelines: readonly { readonly blocked?: Count }[];
}): Count {
  return sumOf(pipelines.map(({ blocked }) => blocked));
}

// Rollups: how many executions ended in an interval, by pipeline, status and duration. Intervals of
// three lengths, each kept for longer than the last, keep both the table and a read small.

export interface RollupStep {
  readonly ms: number;
  readonly keepMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const ROLLUP_STEPS: readonly RollupStep[] = [
  { ms: 60_000, keepMs: 26 * HOUR_MS },
  { ms: 600_000, keepMs: 8 * DAY_MS },
  { ms: HOUR_MS, keepMs: 93 * DAY_MS },
];

export const RANGE_MS_MAX = 92 * DAY_MS;

/** The most points of a trend. */
const POINTS_MAX = 120;

export interface TrendInterval {
  readonly stepMs: number;
  readonly intervalMs: number;
}

/**
 * The intervals of a trend that began `agoMs` ago, in at most 120 points, the shortest first: of
 * rollups that still cover it and the range before it. Longer ones are fewer rows.
 */
export function intervalsFor(rangeMs: number, agoMs: number): readonly TrendInterval[] {
  const first = ROLLUP_STEPS.findIndex(
    ({ ms, keepMs }) => agoMs + rangeMs <= keepMs && rangeMs <= 4 * POINTS_MAX * ms,
  );
  return ROLLUP_STEPS.slice(first).map(({ ms: stepMs }) => ({
    ...{ stepMs, intervalMs: stepMs * Math.max(1, Math.ceil(rangeMs / stepMs / POINTS_MAX)) },
  }));
}

/** Durations per doubling: a bucket is 19 % wide. */
const BUCKETS_PER_DOUBLING = 4;

/** In SQL of both stores: the bucket of a duration in milliseconds. */
export function bucketSql(ms: string): string {
  return `cast(floor(${BUCKETS_PER_DOUBLING} * ln(case when ${ms} < 1 then 1 else ${ms} end) / ln(2) + 0.000001) as integer)`;
}

function lowerBound(bucket: number): number {
  return 2 ** (bucket / BUCKETS_PER_DOUBLING);
}

/** How many executions took as long as a bucket, and the longest of them. Older builds stored no `maxMs`. */
export interface BucketCount {
  readonly bucket: number;
  readonly count: number;
  readonly maxMs?: number;
}

export interface Quantiles {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** Undefined without durations. Each is exact to its bucket, interpolated within it, and never above its longest. */
export function quantilesOf(counts: readonly BucketCount[]): Quantiles | undefined {
  const buckets = counts.toSorted((a, b) => a.bucket - b.bucket);
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return undefined;
  const at = (part: number): number => {
    let left = part * total;
    const found = buckets.find(({ count }) => {
      if (left <= count) return true;
      left -= count;
      return false;
    });
    const { bucket, count, maxMs = Infinity } = found ?? (buckets.at(-1) as BucketCount);
    return Math.round(Math.min(lowerBound(bucket + Math.min(1, left / count)), maxMs));
  };
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}

/** A sum of a rollup: how many executions ended with this status after this duration. */
export interface EndedCount extends BucketCount {
  readonly status: TerminalStatus;
}

type EndedByStatus = Readonly<Record<TerminalStatus, number>>;

export interface EndedFigures {
  readonly ended: EndedByStatus;
  /** Absent if none ended. */
  readonly duration?: Quantiles;
}

const NONE: EndedByStatus = {
  completed: 0,
  failed: 0,
  cancelled: 0,
  quarantined: 0,
  compensated: 0,
};

export function endedFigures(counts: readonly EndedCount[]): EndedFigures {
  const ended: Record<TerminalStatus, number> = { ...NONE };
  for (const { status, count } of counts) ended[status] += count;
  const duration = quantilesOf(counts);
  return { ended, ...(duration && { duration }) };
}
