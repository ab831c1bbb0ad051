import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AssertionFault } from '../support/assert.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  COUNTERS_PER_EPOCH,
  counterOf,
  EPOCH_MAX,
  epochOf,
  FENCE_ORIGIN,
  formatFence,
  parseFence,
  raisedOrigin,
  toFence,
} from './fence.ts';

test('T-1: a fence is a positive safe integer and nothing else', () => {
  assert.equal(toFence(COUNTERS_PER_EPOCH + 1), COUNTERS_PER_EPOCH + 1);
  assert.equal(toFence(Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => toFence(value), AssertionFault, String(value));
  }
});

test('T-1: epoch and counter are read back, and the text of a fence shows both', () => {
  const fence = toFence(7 * COUNTERS_PER_EPOCH + 42);
  assert.deepEqual([epochOf(fence), counterOf(fence), formatFence(fence)], [7, 42, '7.42']);
  assert.equal(epochOf(FENCE_ORIGIN), 1);
});

test('T-1: a fence from outside is a number or its decimal digits, of epoch one at least', () => {
  const fence = COUNTERS_PER_EPOCH + 5;
  assert.equal(parseFence(fence), fence);
  assert.equal(parseFence(String(fence)), fence);
  assert.equal(parseFence(COUNTERS_PER_EPOCH), COUNTERS_PER_EPOCH);
  const wrong = [
    COUNTERS_PER_EPOCH - 1,
    2 ** 53,
    fence + 0.5,
    Number.NaN,
    '',
    ' 1099511627781',
    '0x10000000000',
    '1e13',
    '-1099511627781',
    '99999999999999999',
    BigInt(fence),
    null,
    undefined,
    {},
    true,
  ];
  for (const value of wrong) assert.throws(() => parseFence(value), InvalidInput, String(value));
});

test('T-3: the sequence is raised above everything issued and everything presented', () => {
  const issued = 3 * COUNTERS_PER_EPOCH + 9;
  assert.equal(raisedOrigin(issued), 4 * COUNTERS_PER_EPOCH);
  assert.equal(raisedOrigin(issued, 8 * COUNTERS_PER_EPOCH + 1), 9 * COUNTERS_PER_EPOCH);
  assert.equal(raisedOrigin(issued, COUNTERS_PER_EPOCH), 4 * COUNTERS_PER_EPOCH);
});

test('T-3: when the epochs are used up the store stops, and does not start again', () => {
  const last = EPOCH_MAX * COUNTERS_PER_EPOCH;
  assert.throws(() => raisedOrigin(last), AssertionFault);
  assert.equal(raisedOrigin(last - 1), last);
  assert.ok(Number.isSafeInteger(last + COUNTERS_PER_EPOCH - 1), 'the last epoch is usable whole');
});
