import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../testing/manual-clock.ts';
import { RevisionLog } from './revision-log.ts';
import { StoreClock } from './store-clock.ts';

function makeClock(): { clock: StoreClock; host: ManualClock; log: RevisionLog } {
  const host = new ManualClock();
  const log = new RevisionLog();
  return { clock: new StoreClock(host, log), host, log };
}

test('C-2, C-10: time goes on from what was written by what the monotonic clock counts, and by no other', async () => {
  const { clock, host } = makeClock();
  clock.learn(5_000, 1);
  await host.advance(700);
  host.jumpWall(-3_600_000);
  assert.equal(clock.now(), 5_700);
  host.jumpWall(7_200_000);
  assert.equal(clock.now(), 5_700);
});

test('C-2: what was written later counts, also when it is less than this client had made of it', async () => {
  const { clock, host } = makeClock();
  clock.learn(5_000, 1);
  await host.advance(700);
  clock.learn(5_100, 2);
  assert.equal(clock.now(), 5_100);
  clock.learn(9_000, 1);
  assert.equal(clock.now(), 5_100, 'what was written earlier does not');
});

test('a write is as old as the first answer that could have told of it', async () => {
  const { clock, host, log } = makeClock();
  log.note(7, host.monotonicMs());
  await host.advance(2_000);
  clock.learn(1_000, 6);
  assert.equal(clock.now(), 3_000);
});

test('who wrote the time last writes it anew sooner than others would', async () => {
  const { clock, host } = makeClock();
  clock.learn(0, 1, true);
  await host.advance(5_000);
  assert.equal(clock.isOld, true);
  clock.learn(5_000, 2);
  await host.advance(5_000);
  assert.equal(clock.isOld, false);
  await host.advance(10_000);
  assert.equal(clock.isOld, true);
});
