import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ThreadPulse } from './pulse.ts';
import { Wedge } from './run-term.ts';

test('R-7: a main thread is wedged when it stands still until the grace is over', () => {
  const wedge = new Wedge(1_000);
  assert.deepEqual(
    [-500, 0, 500, 999, 1_000].map((overForMs) => wedge.check(false, overForMs)),
    [false, false, false, false, true],
  );
});

test('a process that was frozen gets the chance to turn', () => {
  const wedge = new Wedge(1_000);
  assert.deepEqual([wedge.check(false, 60_000), wedge.check(false, 60_010)], [false, false]);
  assert.equal(wedge.check(true, 60_020), false, 'it turned');
  assert.equal(wedge.check(false, 60_030), false, 'and starts anew');
});

test('a process is not ended before it had any authority', () => {
  const wedge = new Wedge(0);
  for (let check = 0; check < 10; check += 1) assert.equal(wedge.check(false, undefined), false);
});

test('the time without authority is that of the clock that ran further', () => {
  const pulse = new ThreadPulse();
  const sentAt = { monotonicMs: 100, wallMs: 10_000 };
  assert.equal(pulse.overForMs(sentAt), undefined);
  pulse.publish(sentAt, 50, 1);
  assert.equal(pulse.overForMs(sentAt), -50);
  assert.equal(pulse.overForMs({ monotonicMs: 160, wallMs: 10_090 }), 40);
  assert.equal(pulse.overForMs({ monotonicMs: 160, wallMs: 9_000 }), 10);
});
