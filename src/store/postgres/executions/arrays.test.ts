import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTexts } from './arrays.ts';

/** Parses the bytes as the server does: a one-dimensional array of texts. */
function read(bytes: Buffer): readonly (string | null)[] {
  const [dimensions, nulls, type, count, first] = [0, 4, 8, 12, 16].map((at) =>
    bytes.readInt32BE(at),
  );
  assert.deepEqual([dimensions, type, first], [1, 25, 1]);
  const values: (string | null)[] = [];
  let at = 20;
  for (let nth = 0; nth < (count ?? 0); nth += 1) {
    const length = bytes.readInt32BE(at);
    at += 4;
    values.push(length === -1 ? null : bytes.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  assert.equal(at, bytes.length);
  assert.equal(nulls, values.includes(null) ? 1 : 0);
  return values;
}

test('long texts arrive unchanged, whatever their content', () => {
  const values = ['{"a":"\\"}', '', 'ä€😀'.repeat(3_000), 'NULL', '{}'];
  assert.deepEqual(read(longTexts(values) as Buffer), values);
});

test('absent texts are null, and nothing is sent if all are absent', () => {
  assert.deepEqual(read(longTexts([undefined, 'x', null]) as Buffer), [null, 'x', null]);
  assert.equal(longTexts([undefined, null]), null);
  assert.equal(longTexts([]), null);
});
