import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signingKeys } from './sqs-options.ts';

test('M-13: keys of two projects have two secrets; those of one project may be the same', () => {
  const secret = 's'.repeat(32);
  const same = { k1: { secret, project: 'a' }, k2: { secret, project: 'b' } };
  assert.throws(() => signingKeys(same), {
    code: 'invalid-input',
    message: /keys 1 and 2 have the same/,
  });
  const bytes = { k1: { secret, project: 'a' }, k2: { secret: Buffer.from(secret), project: 'b' } };
  assert.throws(() => signingKeys(bytes), { code: 'invalid-input' });
  signingKeys({ k1: { secret, project: 'a' }, k2: { secret, project: 'a' } });
  signingKeys({ k1: { secret, project: 'a' }, k2: { secret: secret.toUpperCase(), project: 'b' } });
});
