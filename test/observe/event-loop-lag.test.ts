import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { type LeaseReport, ObserverRelay } from '../../src/lease/observer.ts';
import { EventLoopLag } from '../../src/support/event-loop-lag.ts';

/** A loop whose timers fire when the test decides, however late. */
function slowLoop() {
  const time = { monotonicMs: 0, wallMs: 1_000 };
  let due: (() => void) | undefined;
  const lag = new EventLoopLag(
    { monotonicMs: () => time.monotonicMs, wallMs: () => time.wallMs },
    {
      after: (_ms, callback) => {
        due = callback;
        return () => {
          due = undefined;
        };
      },
      pause: () => Promise.resolve(),
      soon: (callback) => callback(),
    },
    20,
  );
  const pass = (ms: number): void => {
    time.monotonicMs += ms;
    time.wallMs += ms;
  };
  return { time, lag, pass, fire: () => due?.(), isWaiting: () => due !== undefined };
}

test('a timer that fires late shows once how long the loop was busy', () => {
  const { lag, pass, fire } = slowLoop();
  lag.start();
  pass(20);
  fire();
  assert.deepEqual(lag.take(), { lagMs: 0, suspendedMs: 0 });
  pass(320);
  fire();
  pass(25);
  fire();
  assert.deepEqual(lag.take(), { lagMs: 300, suspendedMs: 0 }, 'the most since last asked');
  assert.deepEqual(lag.take(), { lagMs: 0, suspendedMs: 0 });
});

test('a read before the late timer fires returns the lag, and the next read does not', () => {
  const { lag, pass, fire } = slowLoop();
  lag.start();
  pass(520);
  assert.equal(lag.take().lagMs, 500);
  pass(20);
  fire();
  assert.equal(lag.take().lagMs, 0);
});

test('a suspend is not lag; a clock that is slewed a little, or set back, is not a suspend', () => {
  const { lag, time, pass, fire } = slowLoop();
  lag.start();
  for (const [jump, suspended] of [
    [9_000, 9_000],
    [30, 0],
    [-5_000, 0],
  ] as const) {
    time.wallMs += jump;
    pass(20);
    fire();
    assert.deepEqual(lag.take(), { lagMs: 0, suspendedMs: suspended });
  }
});

test('after stop no timer is left', () => {
  const { lag, isWaiting } = slowLoop();
  lag.start();
  assert.ok(isWaiting());
  lag.stop();
  assert.equal(isWaiting(), false);
  assert.deepEqual(lag.take(), { lagMs: 0, suspendedMs: 0 });
});

test('O-4: an observer that throws or is too slow affects nothing, and gets the number of missed reports', async () => {
  const clock = new ManualClock();
  const seen: LeaseReport[] = [];
  const observer = {
    report: (report: LeaseReport) => {
      seen.push(report);
      throw new Error('a broken observer');
    },
  };
  const relay = new ObserverRelay(observer, clock, clock.timers);
  for (let count = 0; count < 1_030; count += 1) relay.report({ kind: 'dropped', count });
  assert.equal(seen.length, 0, 'nothing is delivered in the same turn');
  await clock.settle();
  assert.equal(seen.length, 1_025);
  assert.deepEqual(seen.at(-1), { kind: 'dropped', count: 6, at: clock.wallMs() });
  assert.equal(relay.dropped, 6);
});
