import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from './calls.ts';

test('an answer without an address is reported as one that no coordinator gave', () => {
  const { code, message } = refusalOf(new Response('', { status: 408 }), undefined);
  assert.equal(code, 'no-coordinator');
  assert.match(message, /^The server returned status 408 and a body that no coordinator sends/);
});
