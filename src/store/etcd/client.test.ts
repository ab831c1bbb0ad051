import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { etcdFault, isCompacted } from './client.ts';

const CANCELLED = 1;
const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const OUT_OF_RANGE = 11;
const UNAVAILABLE = 14;

test('U-1: a request that did not leave, or was refused before its proposal, may go to another member', () => {
  for (const [code, details] of [
    [UNAVAILABLE, 'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:2379'],
    [UNAVAILABLE, 'Name resolution failed for target dns:nowhere'],
    [UNAVAILABLE, 'etcdserver: no leader'],
    [DEADLINE_EXCEEDED, 'Deadline exceeded after 3.001s,LB pick: 3.000s'],
  ] as const) {
    assert.equal(etcdFault({ code, details }), undefined, details);
  }
});

test('U-1: a request that left and got no answer is unknown', () => {
  for (const [code, details] of [
    [UNAVAILABLE, 'Connection dropped'],
    [UNAVAILABLE, 'etcdserver: request timed out, possibly due to previous leader failure'],
    [UNAVAILABLE, 'etcdserver: leader changed'],
    [DEADLINE_EXCEEDED, 'Deadline exceeded after 3.000s,remote_addr=127.0.0.1:2379'],
    [CANCELLED, 'Cancelled on client'],
    [RESOURCE_EXHAUSTED, 'Received message larger than max'],
  ] as const) {
    assert.ok(etcdFault({ code, details }) instanceof OutcomeUnknown, details);
  }
  assert.ok(etcdFault(new Error('socket hang up')) instanceof OutcomeUnknown);
});

test('U-1: a request that etcd answered with an error was not done', () => {
  const full = { code: RESOURCE_EXHAUSTED, details: 'etcdserver: mvcc: database space exceeded' };
  assert.ok(etcdFault(full) instanceof StoreUnavailable);
  const wrong = etcdFault({ code: INVALID_ARGUMENT, details: 'etcdserver: too many operations' });
  assert.ok(wrong instanceof Fault && wrong.code === 'store-rejected');
  const details = 'etcdserver: mvcc: required revision has been compacted';
  assert.ok(isCompacted(etcdFault({ code: OUT_OF_RANGE, details })));
  assert.ok(!isCompacted(wrong));
});
