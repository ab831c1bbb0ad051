import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toInstant } from '../support/clock.ts';
import { readExit } from './exit.ts';
import { COUNTERS_PER_EPOCH, toFence } from './fence.ts';
import { type LeaseRecord, leaseState, termEnd } from './lease.ts';
import { parseAttemptId, parseLeaseKey, parseOwner, parseSessionId } from './names.ts';

const now = toInstant(5_000);

const lease: LeaseRecord = {
  key: parseLeaseKey('orders/17'),
  fence: toFence(COUNTERS_PER_EPOCH + 1),
  session: parseSessionId('0198c5a0-7e5b-7c3a-9d52-0f6f0d9f4f11'),
  owner: parseOwner('ann'),
  attempt: parseAttemptId('0198c5a0-7e5b-7c3a-9d52-0f6f0d9f4f12'),
  rev: 1,
  grantedAt: toInstant(1_000),
  predecessor: { exit: 'none' },
  lossesSinceCheckpoint: 0,
  intents: [],
};

test('E-5: a lease of an unknown session is over, not immortal', () => {
  assert.equal(termEnd(lease, [], now)?.exit, 'expired');
  assert.equal(leaseState(lease, [], now), 'free');
});

test('A-2: an exit that this build does not know is read as expired', () => {
  assert.equal(readExit('yielded'), 'yielded');
  assert.equal(readExit('evaporated'), 'expired');
  assert.equal(readExit('toString'), 'expired');
});
