import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Instant, toInstant } from '../support/clock.ts';
import { chargeFlap, dampedForMs } from './flap.ts';
import { resolvePolicy } from './policy.ts';

const policy = resolvePolicy({ flapUnitMs: 1_000 });

/** Returns the penalty after losses at these times. */
function afterLosses(...times: readonly number[]): Instant | undefined {
  let until: Instant | undefined;
  for (const time of times) until = chargeFlap(until, policy, toInstant(time));
  return until;
}

test('G-4: two losses at once are free, the third costs a unit', () => {
  const damped = (...times: readonly number[]) =>
    dampedForMs(afterLosses(...times), policy, toInstant(0));
  assert.ok(damped(0) <= 0);
  assert.ok(damped(0, 0) <= 0);
  assert.equal(damped(0, 0, 0), 1_000);
});

test('G-4: the penalty decreases with time, to the millisecond', () => {
  const until = afterLosses(0, 0, 0);
  assert.equal(dampedForMs(until, policy, toInstant(999)), 1);
  assert.equal(dampedForMs(until, policy, toInstant(1_000)), 0);
  assert.ok(dampedForMs(until, policy, toInstant(5_000)) <= 0);
});

test('G-4: losses a unit apart never add up', () => {
  const until = afterLosses(0, 1_000, 2_000, 3_000, 4_000, 5_000);
  assert.ok(dampedForMs(until, policy, toInstant(5_000)) <= 0);
});

test('G-4: however many losses, an owner waits at most two units', () => {
  const until = afterLosses(...Array.from({ length: 50 }, () => 0));
  assert.equal(dampedForMs(until, policy, toInstant(0)), 2_000);
});

test('G-4: an owner without losses waits for nothing, and a unit of zero turns damping off', () => {
  assert.equal(dampedForMs(undefined, policy, toInstant(0)), 0);
  const off = resolvePolicy({ flapUnitMs: 0 });
  assert.equal(dampedForMs(afterLosses(0, 0, 0, 0), off, toInstant(0)), 0);
});
