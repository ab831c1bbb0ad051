import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';

test('time stands still until it is advanced, and then both clocks move alike', async () => {
  const clock = new ManualClock(1_000);
  assert.deepEqual([clock.wallMs(), clock.monotonicMs()], [1_000, 0]);
  await clock.advance(250);
  assert.deepEqual([clock.wallMs(), clock.monotonicMs()], [1_250, 250]);
});

test('a jump and a suspend move only the wall clock, and no timer fires', async () => {
  const clock = new ManualClock(1_000);
  let fired = 0;
  clock.timers.after(10, () => {
    fired += 1;
  });
  clock.jumpWall(-500);
  clock.suspend(60_000);
  await clock.settle();
  assert.deepEqual([clock.wallMs(), clock.monotonicMs(), fired], [60_500, 0, 0]);
});

test('due timers fire in order, each at its own time, those set meanwhile among them', async () => {
  const clock = new ManualClock(0);
  const seen: string[] = [];
  const note = (name: string) => () => seen.push(`${name}@${clock.monotonicMs()}`);
  clock.timers.after(30, note('late'));
  clock.timers.after(10, () => {
    note('early')();
    clock.timers.after(5, note('nested'));
  });
  clock.timers.after(10, note('early-too'));
  clock.timers.after(31, note('never'));
  await clock.advance(30);
  assert.deepEqual(seen, ['early@10', 'early-too@10', 'nested@15', 'late@30']);
  assert.equal(clock.waiting, 1);
});

test('promise callbacks run between timers', async () => {
  const clock = new ManualClock(0);
  const seen: number[] = [];
  const loop = async (): Promise<void> => {
    for (let round = 0; round < 3; round += 1) {
      await clock.timers.pause(10);
      await new Promise<void>((resolve) => clock.timers.soon(resolve));
      seen.push(clock.monotonicMs());
    }
  };
  const running = loop();
  await clock.advance(100);
  await running;
  assert.deepEqual(seen, [10, 20, 30]);
});

test('a cancelled timer does not fire, and cancelling twice is harmless', async () => {
  const clock = new ManualClock();
  let fired = false;
  const cancel = clock.timers.after(1, () => {
    fired = true;
  });
  cancel();
  cancel();
  await clock.advance(5);
  assert.equal(fired, false);
});

test('a pause ends at once when its signal aborts, before or after it began', async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const waiting = clock.timers.pause(1_000, controller.signal);
  controller.abort();
  await waiting;
  await clock.timers.pause(1_000, controller.signal);
  assert.equal(clock.waiting, 0);
});
