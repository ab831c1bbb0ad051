import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExecutionId } from '../execution/names.ts';
import { type Clock, toInstant } from '../support/clock.ts';
import { seededRandom } from '../support/random.ts';
import { derivedUuid, ExecutionIds } from './ids.ts';

test('ids rise within a millisecond, beyond its counter, and when the clock is set back', () => {
  let ms = Date.UTC(2026, 0, 1);
  const clock: Clock = { wallMs: () => ms, monotonicMs: () => 0 };
  const ids = new ExecutionIds(clock, seededRandom(1));
  const made = Array.from({ length: 10_000 }, () => ids.next());
  ms -= 5_000;
  made.push(ids.next());
  ms += 60_000;
  made.push(ids.next());
  assert.deepEqual(made, [...made].sort());
  assert.equal(new Set(made).size, made.length);
  for (const id of made) parseExecutionId(id);
});

test('the id of a child sorts by its time, and cannot be derived from it', () => {
  const early = toInstant(Date.UTC(2026, 0, 1));
  const later = toInstant(Date.UTC(2026, 0, 2));
  const clock: Clock = { wallMs: () => later, monotonicMs: () => 0 };
  const ids = new ExecutionIds(clock, seededRandom(1));
  assert.notEqual(ids.nextAt(early), ids.nextAt(early));
  assert.ok(ids.nextAt(early) < ids.nextAt(later));
  assert.notEqual(derivedUuid('a'), derivedUuid('b'));
  parseExecutionId(ids.nextAt(early));
});

test('the ids of children of one millisecond rise, and their ends are random', () => {
  const at = toInstant(Date.UTC(2026, 0, 1));
  const ids = new ExecutionIds({ wallMs: () => at, monotonicMs: () => 0 }, seededRandom(1));
  const made = Array.from({ length: 10_000 }, () => ids.nextAt(at));
  assert.deepEqual(made, [...made].sort());
  assert.equal(new Set(made.map((id) => id.slice(24))).size, made.length);
});
