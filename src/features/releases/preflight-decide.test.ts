import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionId } from '../../execution/names.ts';
import { keptPreflight } from './decide.ts';
import type { Preflight } from './model.ts';

type Found = Omit<Preflight, 'at'>;

const ids = (...names: readonly string[]) => names as readonly string[] as readonly ExecutionId[];

function found(looked: number, ...broken: readonly string[]): Found {
  const replays = ids(...broken).map((execution) => ({ execution, why: 'it asks otherwise' }));
  return { changes: [], open: 3, looked, broken: replays, brokenCount: broken.length };
}

const all = found(3, 'a', 'b', 'c');

test('RE-10, RE-20: a look at some keeps what was found of those that it did not look at', () => {
  const kept = keptPreflight(all, found(1), ids('b', 'c'));
  assert.deepEqual([kept.brokenCount, kept.looked], [2, 3]);
  assert.deepEqual(
    kept.broken.map(({ execution }) => execution),
    ids('b', 'c'),
  );
  assert.equal(keptPreflight(all, found(0), ids('a', 'b', 'c')).brokenCount, 3);
  assert.equal(keptPreflight(all, found(1, 'a'), ids('b', 'c')).brokenCount, 3);
});

test('RE-10, RE-20: who looked at all of them has the last word, and what has ended is not kept', () => {
  assert.deepEqual(keptPreflight(all, found(3), []), found(3));
  assert.deepEqual(keptPreflight(undefined, found(1), ids('b', 'c')), found(1));
  assert.equal(keptPreflight(all, found(1), ids('x', 'y')).brokenCount, 0);
});

test('RE-10: those that were only counted may be any that was not looked at', () => {
  const many = { ...all, brokenCount: 500 };
  assert.equal(keptPreflight(many, found(1), ids('x', 'y')).brokenCount, 2);
  assert.equal(keptPreflight(many, found(1), ids('a', 'y', 'z')).looked, 4);
});
