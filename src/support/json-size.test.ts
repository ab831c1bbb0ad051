import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeeperThan, requireFewValues, valuesIn } from './json-size.ts';

for (const [json, count] of [
  ['1', 1],
  ['[1,2,3]', 4],
  ['{"a":1,"b":[true]}', 6],
  ['"a,b:[{"', 1],
  [String.raw`["\",\\","\\\"[",1]`, 4],
  ['"no end, [', 1],
] as const) {
  test(`${json} has ${count} names and values`, () => {
    assert.equal(valuesIn(json), count);
  });
}

test('counting stops above the limit', () => {
  assert.equal(valuesIn(`[${'1,'.repeat(1_000)}1]`, 10), 11);
});

test('several texts together must keep within the limit', () => {
  const list = `[${'1,'.repeat(60)}1]`;
  requireFewValues('The body', ['x'.repeat(1_000)], 100);
  requireFewValues('The body', [list], 100);
  assert.throws(() => requireFewValues('The body', [list, list], 100), {
    code: 'payload-too-large',
    message: /^The body has more than 100 names and values/,
  });
});

test('text that is nested deeper than the limit is found, whatever is in strings', () => {
  assert.equal(isDeeperThan('[[[[1]]]]', 3), true);
  assert.equal(isDeeperThan('[[["[[[["]]]', 3), false);
});
