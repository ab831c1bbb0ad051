import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInput } from '../support/fault.ts';
import { clampTtl, DEFAULT_POLICY, type LeasePolicy, resolvePolicy } from './policy.ts';

test('without options the policy is the default, and frozen', () => {
  const policy = resolvePolicy();
  assert.deepEqual(policy, DEFAULT_POLICY);
  assert.ok(Object.isFrozen(policy));
});

test('given options replace their defaults, and the rest stays', () => {
  assert.deepEqual(resolvePolicy({ ttlMsMin: 50, intentsMax: 0 }), {
    ...DEFAULT_POLICY,
    ttlMsMin: 50,
    intentsMax: 0,
  });
});

test('an unknown name is refused with the most similar one', () => {
  const slip = { flapUnitsMs: 1 } as Partial<LeasePolicy>;
  assert.throws(() => resolvePolicy(slip), /no option "flapUnitsMs". Did you mean "flapUnitMs"\?/);
});

test('a value outside its range is refused with its name and range, never replaced', () => {
  assert.throws(() => resolvePolicy({ ttlMsMin: 9 }), /policy.ttlMsMin must be between 10 and/);
  assert.throws(() => resolvePolicy({ breakerSharePercent: 101 }), /between 1 and 100; got 101/);
  assert.throws(() => resolvePolicy({ retentionMs: 1.5 }), InvalidInput);
  assert.throws(() => resolvePolicy({ intentsMax: Number.NaN }), InvalidInput);
});

test('E-8: the breaker cannot be set to look at fewer than ten sessions', () => {
  assert.throws(() => resolvePolicy({ breakerSessionsMin: 9 }), InvalidInput);
});

test('a minimum ttl above the maximum is refused', () => {
  assert.throws(() => resolvePolicy({ ttlMsMin: 2_000, ttlMsMax: 1_000 }), /must not be above/);
});

test('A-6: a ttl is clamped to the policy at both ends', () => {
  const policy = resolvePolicy({ ttlMsMin: 100, ttlMsMax: 200 });
  const clamped = [99, 100, 150, 200, 201].map((ttlMs) => clampTtl(policy, ttlMs));
  assert.deepEqual(clamped, [100, 100, 150, 200, 200]);
});
