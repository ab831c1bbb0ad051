import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toInstant } from '../../support/clock.ts';
import { type AccessKey, readKey, writeKey } from './model.ts';
import { digestOfSecret, newKey, opens } from './secret-model.ts';

const NOW = toInstant(1_000);

function stored(made: { readonly id: string; readonly digest: string }): AccessKey {
  const { id, digest } = made;
  return { id, digest, roles: ['submit'], name: 'ci', createdAt: NOW };
}

test('P-3: a new key has 80 bits of name and 256 of secret, and is written and read as such', () => {
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

test('P-3: what is stored says nothing of the secret, and is of its letters, not of their bytes', () => {
  const { secret, digest } = newKey(() => new Uint8Array(32));
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.equal(secret, 'A'.repeat(43));
  // The last letter has two bits that no byte needs: decoded, these would be the same.
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
  assert.equal(opens({ ...key, endedAt: NOW }, made, NOW), false);
  assert.equal(opens({ ...key, expiresAt: NOW }, made, NOW), false);
  assert.equal(opens({ ...key, expiresAt: toInstant(NOW + 1) }, made, NOW), true);
});

test('P-10: a digest that is none opens nothing, and neither does the one of nobody', () => {
  const made = newKey();
  for (const digest of ['', 'x', '-'.repeat(64), made.digest.toUpperCase(), `${made.digest}0`]) {
    assert.equal(opens({ ...stored(made), digest }, made, NOW), false, digest);
  }
});
