import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { Authority, momentOf } from './authority.ts';

const NO_CAUTION = { driftPpm: 0, guardMs: 0 };

test('C-3: authority counts from before the request left, not from when the answer came', async () => {
  const clock = new ManualClock();
  const sentAt = momentOf(clock);
  await clock.advance(400);
  const authority = new Authority(clock, { sentAt, grantedMs: 1_000 }, NO_CAUTION);
  assert.equal(authority.remainingMs(), 600);
});

test('C-3: drift and guard are subtracted from the granted time', () => {
  const clock = new ManualClock();
  const grant = { sentAt: momentOf(clock), grantedMs: 30_000 };
  const authority = new Authority(clock, grant, { driftPpm: 500, guardMs: 100 });
  assert.ok(Math.abs(authority.remainingMs() - (30_000 - 30 - 100)) < 0.1);
});

test('C-4: a suspend counts although the monotonic clock stood still', () => {
  const clock = new ManualClock();
  const grant = { sentAt: momentOf(clock), grantedMs: 1_000 };
  const authority = new Authority(clock, grant, NO_CAUTION);
  clock.suspend(5_000);
  assert.equal(authority.remainingMs(), -4_000);
});

test('C-4: a wall clock that is set back cannot stretch authority', async () => {
  const clock = new ManualClock();
  const grant = { sentAt: momentOf(clock), grantedMs: 1_000 };
  const authority = new Authority(clock, grant, NO_CAUTION);
  clock.jumpWall(-60_000);
  await clock.advance(900);
  assert.equal(authority.remainingMs(), 100);
});
