import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SignedClaims, Signer } from './signing.ts';

test('M-13: a message signed with invalid times is refused, and its expiry is not shown', () => {
  const signer = new Signer('test', { keys: { k1: 's'.repeat(32) }, current: 'k1' });
  const verified = (claims: object): string =>
    signer.verify(signer.sign(claims as SignedClaims), { to: 'coordinator', nowMs: 1_000 }).kind;
  const at = { to: 'coordinator', at: 0 };
  assert.equal(verified({ ...at, until: 1_000 }), 'verified');
  assert.equal(verified({ ...at, until: -100_000 }), 'expired');
  for (const until of [undefined, null, '1', 1.5, -1e300, 1e300, -8.7e15, {}]) {
    assert.equal(verified({ ...at, until }), 'invalid', String(until));
    assert.equal(verified({ to: 'coordinator', at: until, until: 1_000 }), 'invalid');
  }
});
