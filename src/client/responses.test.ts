import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from './calls.ts';

test('a response without an address is reported as not from a coordinator', () => {
  const { code, message } = refusalOf(new Response('', { status: 408 }), undefined);
  assert.equal(code, 'no-coordinator');
  assert.match(message, /^The server returned status 408 and a body that no coordinator sends/);
});
