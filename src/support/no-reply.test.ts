import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUnsent } from './no-reply.ts';

function failure(cause: object): Error {
  return new TypeError('fetch failed', { cause });
}

test('a request counts as unsent only if no connection was made', () => {
  for (const cause of [
    { code: 'ECONNREFUSED', syscall: 'connect' },
    { code: 'ENOTFOUND', syscall: 'getaddrinfo' },
    { code: 'ETIMEDOUT', errors: [{ code: 'ETIMEDOUT', syscall: 'connect' }] },
    { code: 'UND_ERR_CONNECT_TIMEOUT' },
    { code: 'CERT_HAS_EXPIRED' },
  ]) {
    assert.equal(isUnsent(failure(cause)), true, JSON.stringify(cause));
  }
  for (const cause of [
    { code: 'ECONNRESET', syscall: 'read' },
    { code: 'EHOSTUNREACH', syscall: 'read' },
    { code: 'ETIMEDOUT', syscall: 'read' },
    { code: 'EPIPE', syscall: 'write' },
    { code: 'UND_ERR_SOCKET' },
    {},
  ]) {
    assert.equal(isUnsent(failure(cause)), false, JSON.stringify(cause));
  }
  assert.equal(isUnsent(new Error('aborted')), false);
});
