import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toInstant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { type AccessKey, isRole, isUsable, ROLES, readKey, writeKey } from './model.ts';

const ID = 'abcdefghijkl2345';
const SECRET = `${'aZ09_-'.repeat(7)}x`;

test('P-3: a key is read only in the one form it is written in', () => {
  const text = writeKey({ id: ID, secret: SECRET });
  assert.equal(text, `hf_${ID}_${SECRET}`);
  assert.deepEqual(readKey(text), { id: ID, secret: SECRET });
  const others = [
    ...['', 'hf_', ` ${text}`, `${text}\n`, `${text}x`, text.slice(0, -1), text.slice(3)],
    ...[text.toUpperCase(), text.replace('hf_', 'HF_'), text.replace('2345', '2341')],
    ...[text.replace('-', '+'), text.replace('aZ', 'äZ')],
  ];
  for (const other of others) assert.equal(readKey(other), undefined, JSON.stringify(other));
});

test('P-3: what is no key is not written as one', () => {
  for (const wrong of [
    { id: 'short', secret: SECRET },
    { id: ID, secret: `${SECRET}x` },
    { id: `${ID}\n`, secret: SECRET },
  ]) {
    assert.throws(() => writeKey(wrong), InvalidInput);
  }
});

test('P-10: a key is good until the millisecond in which it ends or expires', () => {
  const key: AccessKey = {
    ...{ id: ID, roles: ['work'], name: 'worker', digest: '', createdAt: toInstant(0) },
  };
  const at = (ms: number, ends: Partial<AccessKey>): boolean =>
    isUsable({ ...key, ...ends }, toInstant(ms));
  const then = toInstant(10);
  assert.equal(at(1e15, {}), true);
  for (const ends of [{ endedAt: then }, { expiresAt: then }]) {
    assert.deepEqual([at(9, ends), at(10, ends), at(11, ends)], [true, false, false]);
  }
  assert.equal(at(10, { endedAt: toInstant(20), expiresAt: then }), false);
  assert.equal(at(10, { endedAt: then, expiresAt: toInstant(20) }), false);
});

test('P-4: roles are those four and no others', () => {
  assert.deepEqual(ROLES.filter(isRole), ['submit', 'work', 'operate', 'admin']);
  for (const other of ['', 'Admin', 'root', 'toString', undefined, 1]) {
    assert.equal(isRole(other), false);
  }
});
