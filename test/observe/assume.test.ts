// Advice for a described world, without a log.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assumedModel } from '../../src/observe/advisor/advise.ts';
import { type Assumptions, adviseAssuming, goalsOf } from '../../src/observe/index.ts';

const CALM: Assumptions = {
  ...{ ttlMs: 30_000, graceMs: 6_000, roundTripMs: 5, roundTripTailMs: 100 },
  ...{ failuresPer1000: 0.1, pausesPerDay: 10, pauseMs: 200, crashesPerMonth: 1 },
};

test('longer pauses get a longer ttl, until the limits conflict', () => {
  // Frequent crashes, so that a short ttl has a benefit.
  const ttlWith = (pauseMs: number): number => {
    const world = { ...CALM, pauseMs, crashesPerMonth: 500 };
    const advice = adviseAssuming(world, goalsOf('interactive'));
    return advice.kind === 'recommendation' ? advice.ttlMs : Number.POSITIVE_INFINITY;
  };
  const [calm, uneasy, restless] = [ttlWith(50), ttlWith(500), ttlWith(10_000)];
  assert.ok(calm < uneasy, `${calm} and ${uneasy}`);
  assert.equal(restless, Number.POSITIVE_INFINITY);
});

test('settings that match the advice are kept, and the reasons mention no recorded data', () => {
  const first = adviseAssuming(CALM, goalsOf('money'));
  assert.ok(first.kind === 'recommendation');
  assert.equal(first.verdict, 'change');
  const { ttlMs, graceMs } = first;
  const again = adviseAssuming({ ...CALM, ttlMs, graceMs }, goalsOf('money'));
  assert.ok(again.kind === 'recommendation');
  assert.deepEqual([again.verdict, again.ttlMs], ['keep', ttlMs]);
  for (const reason of [...first.reasons, ...again.reasons]) {
    assert.doesNotMatch(reason, /Infinity|NaN|were seen|was recorded/);
  }
});

test('assumed pauses have the given frequency and length, and zero means none', () => {
  const { pauses } = assumedModel(CALM);
  assert.ok(Math.abs(pauses.perHour(0).mean - 10 / 24) < 1e-9);
  const length = pauses.lengthAt(1 / 720);
  assert.ok(Math.abs(pauses.perHour(length).mean - 1 / 720) < 1e-9);
  const none = assumedModel({ ...CALM, pausesPerDay: 0 }).pauses;
  assert.deepEqual([none.perHour(10).mean, none.lengthAt(1)], [0, 0]);
});
