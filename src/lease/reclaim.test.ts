import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toInstant } from '../support/clock.ts';
import { resolvePolicy } from './policy.ts';
import { type Census, decideReclaim, fairChanceUntil } from './reclaim.ts';

const policy = resolvePolicy({ breakerHoldMs: 15_000, recoveryGraceMs: 5_000 });
const now = toInstant(1_000_000);

function kindFor(live: number, overdueFresh: number, expiredInWindow: number): string {
  const census: Census = { live, overdueFresh, expiredInWindow };
  return decideReclaim(census, policy, now).kind;
}

test('E-8: the breaker trips above its share, not at it', () => {
  assert.equal(kindFor(10, 5, 0), 'expire');
  assert.equal(kindFor(10, 6, 0), 'hold');
  assert.equal(kindFor(100, 50, 0), 'expire');
  assert.equal(kindFor(100, 51, 0), 'hold');
});

test('E-8: fewer than ten sessions are never held back, recently expired ones included', () => {
  assert.equal(kindFor(9, 9, 0), 'expire');
  assert.equal(kindFor(8, 8, 1), 'expire');
  assert.equal(kindFor(8, 8, 2), 'hold');
});

test('E-8: sessions that expired within the window count towards the share', () => {
  assert.equal(kindFor(10, 1, 5), 'expire');
  assert.equal(kindFor(6, 1, 6), 'hold');
});

test('E-8: when all overdue sessions had their chance, none is held back', () => {
  assert.equal(kindFor(20, 0, 20), 'expire');
});

test('E-8: a hold ends after its bound', () => {
  const decision = decideReclaim({ live: 10, overdueFresh: 10, expiredInWindow: 0 }, policy, now);
  assert.deepEqual(decision, { kind: 'hold', until: now + 15_000 });
});

test('E-6: a fair chance is the recovery grace, or the ttl if that is shorter', () => {
  assert.equal(fairChanceUntil(30_000, policy, now), now + 5_000);
  assert.equal(fairChanceUntil(5_000, policy, now), now + 5_000);
  assert.equal(fairChanceUntil(1_200, policy, now), now + 1_200);
});
