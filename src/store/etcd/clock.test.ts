import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../contract/testing/manual-clock.ts';
import { seededRandom } from '../../support/random.ts';
import { RevisionClock, RevisionLog } from './clock.ts';

test('a revision is known since the first notice of it or of a later one', () => {
  const log = new RevisionLog();
  log.note(10, 1_000);
  log.note(20, 2_000);
  assert.equal(log.knownSince(5), 1_000);
  assert.equal(log.knownSince(10), 1_000);
  assert.equal(log.knownSince(11), 2_000);
  assert.equal(log.knownSince(21), undefined);
  log.note(15, 3_000);
  assert.deepEqual([log.newest, log.knownSince(20)], [20, 2_000], 'an old answer adds nothing');
});

test('revisions noted at one moment are known since that moment', () => {
  const log = new RevisionLog();
  for (const revision of [1, 2, 3]) log.note(revision, 500);
  log.note(4, 10_500);
  assert.deepEqual([log.knownSince(3), log.knownSince(4)], [500, 10_500]);
});

test('E-2: however much is left out, no revision counts as known earlier than it was', () => {
  const random = seededRandom(7);
  const log = new RevisionLog();
  const readings: { revision: number; tick: number }[] = [];
  let [revision, tick] = [0, 0];
  for (let count = 0; count < 20_000; count += 1) {
    revision += Math.floor(random.next() * 3);
    tick += Math.floor(random.next() * 40);
    log.note(revision, tick);
    readings.push({ revision, tick });
  }
  const first = new Map<number, number>();
  for (const each of readings) if (!first.has(each.revision)) first.set(each.revision, each.tick);
  for (const [each, at] of first) assert.ok((log.knownSince(each) ?? 0) >= at, `revision ${each}`);
  const recent = readings.slice(-500);
  const late = recent.map((each) => (log.knownSince(each.revision) ?? 0) - each.tick);
  assert.ok(Math.max(...late) <= 100, 'recent revisions are known almost to the moment');
});

function makeClock(): { clock: RevisionClock; host: ManualClock; log: RevisionLog } {
  const host = new ManualClock();
  const log = new RevisionLog();
  return { clock: new RevisionClock(host, log), host, log };
}

test('C-2, C-10: store time continues from the written time by the monotonic clock only', async () => {
  const { clock, host } = makeClock();
  clock.learn(5_000, 1);
  await host.advance(700);
  host.jumpWall(-3_600_000);
  assert.equal(clock.now(), 5_700);
  host.jumpWall(7_200_000);
  assert.equal(clock.now(), 5_700);
});

test('C-2: a later written time counts, also if it is earlier than this client’s own', async () => {
  const { clock, host } = makeClock();
  clock.learn(5_000, 1);
  await host.advance(700);
  clock.learn(5_100, 2);
  assert.equal(clock.now(), 5_100);
  clock.learn(9_000, 1);
  assert.equal(clock.now(), 5_100, 'an earlier written time does not count');
});

test('a write is as old as the first answer that could have had it', async () => {
  const { clock, host, log } = makeClock();
  log.note(7, host.monotonicMs());
  await host.advance(2_000);
  clock.learn(1_000, 6);
  assert.equal(clock.now(), 3_000);
});

test('the client that wrote the time last writes it again sooner than others would', async () => {
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
