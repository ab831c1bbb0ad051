import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toInstant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  type AccessKey,
  digestOfSecret,
  isRole,
  isUsable,
  newKey,
  opens,
  ROLES,
  readKey,
  writeKey,
} from './model.ts';

const ID = 'abcdefghijkl2345';
const SECRET = `${'aZ09_-'.repeat(7)}x`;

test('P-3: a key is read only in the form in which it is written', () => {
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

test('P-3: an invalid key is not written', () => {
  for (const wrong of [
    { id: 'short', secret: SECRET },
    { id: ID, secret: `${SECRET}x` },
    { id: `${ID}\n`, secret: SECRET },
  ]) {
    assert.throws(() => writeKey(wrong), InvalidInput);
  }
});

test('P-10: a key is valid until the millisecond in which it ends or expires', () => {
  const key: AccessKey = {
    ...{ id: ID, roles: ['work'], name: 'worker', digest: '', createdAt: toInstant(0) },
  };
  const at = (ms: number, ends: Partial<AccessKey>): boolean =>
    isUsable({ ...key, ...ends }, toInstant(ms));
  const then = toInstant(10);
  assert.equal(at(1e15, {}), true);
  for (const ends of [{ revokedAt: then }, { expiresAt: then }]) {
    assert.deepEqual([at(9, ends), at(10, ends), at(11, ends)], [true, false, false]);
  }
  assert.equal(at(10, { revokedAt: toInstant(20), expiresAt: then }), false);
  assert.equal(at(10, { revokedAt: then, expiresAt: toInstant(20) }), false);
});

test('P-4: there are exactly four roles', () => {
  assert.deepEqual(ROLES.filter(isRole), ['submit', 'work', 'lease', 'operate', 'admin']);
  for (const other of ['', 'Admin', 'root', 'toString', undefined, 1]) {
    assert.equal(isRole(other), false);
  }
});

const NOW = toInstant(1_000);

function stored(made: { readonly id: string; readonly digest: string }): AccessKey {
  const { id, digest } = made;
  return { id, digest, roles: ['submit'], name: 'ci', createdAt: NOW };
}

test('P-3: a new key has 80 bits of name and 256 of secret, and is read as it is written', () => {
  const given = newKey((count) => Uint8Array.from({ length: count }, (_, nth) => 255 - nth));
  assert.deepEqual(given, {
    id: '777p37h37l47r57w',
    secret: '__79_Pv6-fj39vX08_Lx8O_u7ezr6uno5-bl5OPi4eA',
    digest: digestOfSecret('__79_Pv6-fj39vX08_Lx8O_u7ezr6uno5-bl5OPi4eA'),
  });
  assert.deepEqual(readKey(writeKey(given)), { id: given.id, secret: given.secret });
});

test('P-3: no two new keys have anything in common', () => {
  const many = Array.from({ length: 200 }, () => newKey());
  for (const part of ['id', 'secret', 'digest'] as const) {
    assert.equal(new Set(many.map((each) => each[part])).size, many.length);
  }
  for (const each of many) assert.deepEqual(readKey(writeKey(each))?.id, each.id);
});

test('P-3: the stored digest reveals nothing of the secret, and is of its letters, not of their bytes', () => {
  const { secret, digest } = newKey(() => new Uint8Array(32));
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.equal(secret, 'A'.repeat(43));
  // The last letter has two unused bits, so these texts would decode to the same bytes.
  assert.deepEqual(
    Buffer.from(secret, 'base64url'),
    Buffer.from(`${'A'.repeat(42)}B`, 'base64url'),
  );
  assert.notEqual(digestOfSecret(`${'A'.repeat(42)}B`), digest);
});

test('P-10: a key opens with its own secret only, while it is neither ended nor expired', () => {
  const made = newKey();
  const other = newKey();
  const key = stored(made);
  assert.equal(opens(key, made, NOW), true);
  assert.equal(opens(key, { ...made, secret: other.secret }, NOW), false);
  assert.equal(opens(key, { ...made, secret: '' }, NOW), false);
  assert.equal(opens(key, { ...made, id: other.id }, NOW), false);
  assert.equal(opens(undefined, made, NOW), false);
  assert.equal(opens({ ...key, revokedAt: NOW }, made, NOW), false);
  assert.equal(opens({ ...key, expiresAt: NOW }, made, NOW), false);
  assert.equal(opens({ ...key, expiresAt: toInstant(NOW + 1) }, made, NOW), true);
});

test('P-10: an invalid digest opens nothing', () => {
  const made = newKey();
  for (const digest of ['', 'x', '-'.repeat(64), made.digest.toUpperCase(), `${made.digest}0`]) {
    assert.equal(opens({ ...stored(made), digest }, made, NOW), false, digest);
  }
});
