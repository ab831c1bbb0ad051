import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ThreadPulse } from './pulse.ts';

test('R-7: progress is proved by a turn of the event loop, or by a busy section within its bound', () => {
  const pulse = new ThreadPulse();
  pulse.turn(1_000);
  assert.equal(pulse.isProved(1_400, 400), true);
  assert.equal(pulse.isProved(1_401, 400), false);
  pulse.busyUntil(9_000);
  assert.equal(pulse.isProved(9_000, 400), true);
  assert.equal(pulse.isProved(9_001, 400), false, 'a busy section that overruns proves nothing');
});

test('C-4: the published authority runs out on the clock that runs further', () => {
  const pulse = new ThreadPulse();
  pulse.publish({ monotonicMs: 100, wallMs: 50_000 }, 1_000, 3);
  assert.equal(pulse.remainingMs({ monotonicMs: 400, wallMs: 50_100 }, 3), 700);
  assert.equal(pulse.remainingMs({ monotonicMs: 100, wallMs: 50_900 }, 3), 100);
});

test('V-1: authority published under another notice than the current one is zero', () => {
  const pulse = new ThreadPulse();
  pulse.publish({ monotonicMs: 0, wallMs: 0 }, 1_000, 4);
  assert.equal(pulse.remainingMs({ monotonicMs: 0, wallMs: 0 }, 3), 0);
  const other = new ThreadPulse(pulse.memory);
  assert.equal(other.remainingMs({ monotonicMs: 0, wallMs: 0 }, 4), 1_000);
});
