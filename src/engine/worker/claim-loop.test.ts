import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lane } from '../../execution/execution.ts';
import { idleLanes, sharesOf } from './claim-loop.ts';

const none: ReadonlySet<Lane> = new Set();

test('interactive gets most and batch always some', () => {
  assert.deepEqual(sharesOf(100, 1, none), [
    { lane: 'interactive', limit: 80 },
    { lane: 'batch', limit: 20 },
  ]);
});

test('a lane that had nothing leaves its share to the other', () => {
  assert.deepEqual(sharesOf(100, 1, new Set<Lane>(['interactive'])), [
    { lane: 'interactive', limit: 20 },
    { lane: 'batch', limit: 80 },
  ]);
});

test('with a single slot every fifth turn is batch', () => {
  const turns = Array.from({ length: 10 }, (_, turn) => sharesOf(1, turn + 1, none)[1]?.limit);
  assert.deepEqual(turns, [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
});

test('a lane is idle if it gave less than requested', () => {
  const shares = sharesOf(10, 1, none);
  const claimed = Array.from({ length: 8 }, () => ({
    execution: { lane: 'interactive' as const },
  }));
  assert.deepEqual([...idleLanes(shares, claimed)], ['batch']);
});
