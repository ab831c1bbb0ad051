import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInput } from '../../support/fault.ts';
import { toFault } from './database.ts';

class TimeoutError extends Error {}

function nameOf(message: string): string {
  return toFault(new Error(message)).name;
}

test('U-1: a command that was never sent, or that the server refused, is known not to have been done', () => {
  for (const message of [
    'LOADING Redis is loading the dataset in memory',
    'READONLY You cannot write against a read only replica. script: 5e7d, on @user_script:1.',
    "ERR Error running script (call to f_5e7d): @user_script:9: -OOM command not allowed when used memory > 'maxmemory'.",
    'MISCONF Errors writing to the AOF file: No space left on device',
    'NOREPLICAS Not enough good replicas to write.',
    'CLUSTERDOWN The cluster is down',
    'The client is closed',
    'The client is offline',
    'Connection timeout',
    'connect ECONNREFUSED 127.0.0.1:6379',
    'getaddrinfo ENOTFOUND nosuch.invalid',
  ]) {
    assert.equal(nameOf(message), 'StoreUnavailable', message);
  }
  assert.equal(toFault(new TimeoutError()).name, 'StoreUnavailable');
});

test('a denied access is not an outage, and is reported with the server’s reason', () => {
  for (const message of [
    'NOAUTH Authentication required.',
    'WRONGPASS invalid username-password pair or user is disabled.',
    "NOPERM User plain has no permissions to run the 'evalsha' command",
    'ERR Error running script: @user_script:9: -NOPERM No permissions to access a key',
  ]) {
    const fault = toFault(new Error(message));
    assert.equal(fault.code, 'store-rejected', message);
    assert.ok(fault.message.includes(message));
  }
});

test('an untrusted certificate is named, with the setting to add', () => {
  const cause = Object.assign(new Error('unable to verify the first certificate'), {
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  });
  const fault = toFault(cause);
  assert.equal(fault.name, 'StoreUnavailable');
  assert.match(fault.message, /first certificate.*NODE_EXTRA_CA_CERTS/);
});

test('U-1: a command that was sent and got no answer may have been done', () => {
  for (const message of ['Socket closed unexpectedly', 'read ECONNRESET', 'write EPIPE']) {
    assert.equal(nameOf(message), 'OutcomeUnknown', message);
  }
});

test('a script that a server cannot run is rejected, and a fault stays as it is', () => {
  assert.equal(toFault(new Error('ERR Error compiling script')).code, 'store-rejected');
  const fault = new InvalidInput('wrong');
  assert.equal(toFault(fault), fault);
});
