import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, encode, type Shape } from './protobuf.ts';

const INNER: Shape = { name: { no: 1, kind: 'text' } };
const OUTER: Shape = {
  count: { no: 1, kind: 'int' },
  id: { no: 2, kind: 'id' },
  isSo: { no: 3, kind: 'bool' },
  bytes: { no: 4, kind: 'bytes' },
  inner: { no: 5, kind: INNER },
  many: { no: 64, kind: INNER, many: true },
};

test('a written message is read back, whatever the size of its numbers', () => {
  for (const count of [0, 1, 127, 128, 300, 2 ** 32, 2 ** 40 + 5, Number.MAX_SAFE_INTEGER]) {
    const message = {
      count,
      id: '18446744073709551615',
      isSo: true,
      bytes: Buffer.from([0, 255, 128]),
      inner: { name: 'naïve ✓' },
      many: [{ name: 'a' }, { name: '' }, { name: 'c'.repeat(300) }],
    };
    assert.deepEqual(decode(OUTER, encode(OUTER, message)), message);
  }
});

test('missing fields are zero and empty, except messages, which are absent', () => {
  const empty = { count: 0, id: '0', isSo: false, bytes: Buffer.alloc(0), many: [] };
  assert.deepEqual(decode(OUTER, Buffer.alloc(0)), empty);
});

test('the bytes follow the protocol buffers encoding', () => {
  assert.equal(encode(OUTER, { count: 300 }).toString('hex'), '08ac02');
  assert.equal(encode(OUTER, { inner: { name: 'ab' } }).toString('hex'), '2a040a026162');
  assert.equal(encode(OUTER, { many: [{}] }).toString('hex'), '820400');
});

test('a negative number, which takes ten bytes, is read as such', () => {
  const minusOne = Buffer.from('08ffffffffffffffffff01', 'hex');
  assert.equal(decode<{ count: number }>(OUTER, minusOne).count, -1);
});

test('unknown fields are skipped, whatever their type', () => {
  const unknown = ['98065a', `9906${'00'.repeat(8)}`, '9a0603616263', `9d06${'00'.repeat(4)}`];
  const bytes = Buffer.from(`${unknown.join('')}0807`, 'hex');
  assert.equal(decode<{ count: number }>(OUTER, bytes).count, 7);
});
