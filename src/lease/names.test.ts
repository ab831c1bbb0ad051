import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInput } from '../support/fault.ts';
import {
  KEY_BYTES_MAX,
  NAME_BYTES_MAX,
  parseAttemptId,
  parseEffectId,
  parseLeaseKey,
  parseOwner,
  parseRequestId,
  parseSessionId,
  parseText,
  TEXT_BYTES_MAX,
} from './names.ts';

const UUID = '0198c5a0-7e5b-7c3a-9d52-0f6f0d9f4f11';

test('A-8: two spellings of the same text are one key, one owner, one effect', () => {
  for (const parse of [parseLeaseKey, parseOwner, parseEffectId]) {
    assert.equal(parse('cafe\u0301'), 'caf\u00e9');
  }
});

test('A-8: the limits count bytes of UTF-8, after normalisation', () => {
  assert.equal(parseLeaseKey('k'.repeat(KEY_BYTES_MAX)).length, KEY_BYTES_MAX);
  assert.equal(parseOwner('é'.repeat(NAME_BYTES_MAX / 2)).length, NAME_BYTES_MAX / 2);
  assert.equal(parseText('a cause', 'c'.repeat(TEXT_BYTES_MAX)).length, TEXT_BYTES_MAX);
  assert.throws(() => parseLeaseKey('k'.repeat(KEY_BYTES_MAX + 1)), /512 bytes of UTF-8; got 513/);
  assert.throws(() => parseOwner('é'.repeat(NAME_BYTES_MAX / 2 + 1)), InvalidInput);
  assert.throws(() => parseText('a cause', 'c'.repeat(TEXT_BYTES_MAX + 1)), /a cause/);
  // The decomposed text would be too long, but the store normalises the key.
  assert.equal(parseLeaseKey('e\u0301'.repeat(KEY_BYTES_MAX / 2)).length, KEY_BYTES_MAX / 2);
});

test('A-8: a name that no store can keep is refused with the reason', () => {
  assert.throws(() => parseLeaseKey(''), /A lease key must not be empty/);
  assert.throws(() => parseLeaseKey(17), /A lease key must be a string; got number 17/);
  assert.throws(() => parseOwner('a\0b'), /An owner must not contain the NUL character/);
  assert.throws(() => parseEffectId('\ud800'), /half of a surrogate pair/);
  assert.throws(() => parseLeaseKey(undefined), InvalidInput);
});

test('ids are UUIDs in lower case', () => {
  for (const parse of [parseSessionId, parseAttemptId, parseRequestId]) {
    assert.equal(parse(UUID), UUID);
    for (const wrong of [UUID.toUpperCase(), UUID.slice(1), `${UUID} `, `{${UUID}}`, '', 7, null]) {
      assert.throws(() => parse(wrong), InvalidInput, String(wrong));
    }
  }
});
