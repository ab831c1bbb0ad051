import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  countUpTo,
  endedFigures,
  intervalsFor,
  quantilesOf,
  stepFamily,
  type TrendInterval,
} from './model.ts';

const HOUR_MS = 3_600_000;

test('steps that differ in digits and occurrences are one family', () => {
  const steps = ['step:row-5#1', 'step:row-61#2', 'step:row-7#1', 'children:row-5#1[3]'];
  assert.deepEqual([...new Set(steps.map(stepFamily))], ['row-*']);
  assert.equal(stepFamily('step:charge#1'), 'charge');
});

test('a count above the maximum is capped', () => {
  assert.deepEqual(countUpTo(10_000), { count: 10_000, capped: false });
  assert.deepEqual(countUpTo(10_001), { count: 10_000, capped: true });
});

test('quantiles are within 19 % of the durations, and absent without any', () => {
  assert.equal(quantilesOf([]), undefined);
  const counts = new Map<number, number>();
  for (let ms = 1; ms <= 1_000; ms += 1) {
    const bucket = Math.floor(4 * Math.log2(ms));
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  const histogram = [...counts].map(([bucket, count]) => ({ bucket, count }));
  const { p50Ms = 0, p95Ms = 0, p99Ms = 0 } = quantilesOf(histogram) ?? {};
  for (const [found, exact] of [
    [p50Ms, 500],
    [p95Ms, 950],
    [p99Ms, 990],
  ] as const) {
    assert.ok(Math.abs(found / exact - 1) < 0.19, `${found} for ${exact}`);
  }
});

test('no quantile is above the longest duration', () => {
  // 1,500 ms are in the bucket from 1,448 to 1,722 ms.
  const one = quantilesOf([{ bucket: 42, count: 1, maxMs: 1_500 }]);
  assert.deepEqual(one, { p50Ms: 1_500, p95Ms: 1_500, p99Ms: 1_500 });
});

test('ends are summed by status, with the durations of all', () => {
  const { ended, duration } = endedFigures([
    { status: 'completed', bucket: 40, count: 98 },
    { status: 'failed', bucket: 60, count: 2 },
  ]);
  assert.deepEqual([ended.completed, ended.failed, ended.cancelled], [98, 2, 0]);
  assert.ok((duration?.p50Ms ?? 0) < 1_300 && (duration?.p99Ms ?? 0) > 30_000);
});

test('a range has at most 120 points, from rollups that still exist', () => {
  for (const rangeMs of [
    60_000,
    HOUR_MS,
    6 * HOUR_MS,
    24 * HOUR_MS,
    168 * HOUR_MS,
    2_208 * HOUR_MS,
  ]) {
    const [{ stepMs, intervalMs }] = intervalsFor(rangeMs, rangeMs) as [TrendInterval];
    assert.ok(rangeMs / intervalMs <= 120 && intervalMs % stepMs === 0, `${rangeMs}`);
  }
  assert.deepEqual(intervalsFor(HOUR_MS, HOUR_MS)[0], { stepMs: 60_000, intervalMs: 60_000 });
  // Rollups of a minute are kept for 26 hours.
  assert.deepEqual(intervalsFor(HOUR_MS, 30 * HOUR_MS)[0], {
    stepMs: 600_000,
    intervalMs: 600_000,
  });
});
