import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../support/random.ts';
import { RevisionLog } from './revision-log.ts';

test('a revision is known since the first moment at which it, or a later one, was heard of', () => {
  const log = new RevisionLog();
  log.note(10, 1_000);
  log.note(20, 2_000);
  assert.equal(log.knownSince(5), 1_000);
  assert.equal(log.knownSince(10), 1_000);
  assert.equal(log.knownSince(11), 2_000);
  assert.equal(log.knownSince(21), undefined);
  log.note(15, 3_000);
  assert.deepEqual([log.newest, log.knownSince(20)], [20, 2_000], 'an old answer tells nothing');
});

test('what is heard at one moment is known since that moment', () => {
  const log = new RevisionLog();
  for (const revision of [1, 2, 3]) log.note(revision, 500);
  log.note(4, 10_500);
  assert.deepEqual([log.knownSince(3), log.knownSince(4)], [500, 10_500]);
});

test('E-2: however much is left out, nothing counts as known earlier than it was', () => {
  const random = seededRandom(7);
  const log = new RevisionLog();
  const heard: { revision: number; tick: number }[] = [];
  let [revision, tick] = [0, 0];
  for (let count = 0; count < 20_000; count += 1) {
    revision += Math.floor(random.next() * 3);
    tick += Math.floor(random.next() * 40);
    log.note(revision, tick);
    heard.push({ revision, tick });
  }
  const first = new Map<number, number>();
  for (const each of heard) if (!first.has(each.revision)) first.set(each.revision, each.tick);
  for (const [each, at] of first) assert.ok((log.knownSince(each) ?? 0) >= at, `revision ${each}`);
  const recent = heard.slice(-500);
  const late = recent.map((each) => (log.knownSince(each.revision) ?? 0) - each.tick);
  assert.ok(Math.max(...late) <= 100, 'what was heard lately is known almost to the moment');
});
