import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { npmParentEnded } from './stop-requested.ts';

function watched(isByNpm: boolean): {
  readonly clock: ManualClock;
  readonly over: AbortController;
  readonly move: (to: number) => void;
  readonly hasEnded: () => boolean;
} {
  const clock = new ManualClock();
  const over = new AbortController();
  let parent = 70;
  let ended = false;
  const started = {
    timers: clock.timers,
    over: over.signal,
    first: 70,
    parent: () => parent,
    isByNpm,
  };
  void npmParentEnded(started).then(() => {
    ended = true;
  });
  return { clock, over, move: (to) => (parent = to), hasEnded: () => ended };
}

test('a process that npm started ends when the shell between them does', async () => {
  const { clock, move, hasEnded } = watched(true);
  await clock.advance(60_000);
  assert.equal(hasEnded(), false);
  move(1);
  await clock.advance(1_000);
  assert.equal(hasEnded(), true);
  assert.equal(clock.waiting, 0);
});

test('a process that something else started, such as nohup, outlives its parent', async () => {
  const { clock, move, hasEnded } = watched(false);
  move(1);
  await clock.advance(60_000);
  assert.equal(hasEnded(), false);
  assert.equal(clock.waiting, 0);
});

test('the watch ends when the process stops by itself', async () => {
  const { clock, over, hasEnded } = watched(true);
  over.abort();
  await clock.advance(1_000);
  assert.equal(hasEnded(), false);
  assert.equal(clock.waiting, 0);
});

test('a process whose npm ended before the first look ends too, unless npm is process 1', async () => {
  for (const [initName, expected] of [
    ['systemd', true],
    ['npm start', false],
  ] as const) {
    const clock = new ManualClock();
    const over = new AbortController();
    let ended = false;
    const started = { timers: clock.timers, over: over.signal, first: 1, parent: () => 1 };
    void npmParentEnded({ ...started, isByNpm: true, initName }).then(() => {
      ended = true;
    });
    await clock.advance(60_000);
    assert.equal(ended, expected, initName);
    over.abort();
  }
});
