import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_RETRY, decideRetry, type Failure, type FailureCategory } from './failure.ts';

const failure = (category: FailureCategory): Failure => ({ category, code: 'x', message: 'x' });
const policy = { ...DEFAULT_RETRY, attempts: 3, initialMs: 100, factor: 2, maxMs: 300, jitter: 0 };

test('delays grow, up to the longest, until the attempts are used up', () => {
  const delays = [1, 2, 3].map((failed) =>
    decideRetry(
      { ...policy, attempts: 4 },
      { failed, denied: 0 },
      { failure: failure('retryable'), dice: 0.5 },
    ),
  );
  assert.deepEqual(delays, [
    { kind: 'retry', delayMs: 100 },
    { kind: 'retry', delayMs: 200 },
    { kind: 'retry', delayMs: 300 },
  ]);
  assert.deepEqual(
    decideRetry(policy, { failed: 3, denied: 0 }, { failure: failure('unknown'), dice: 0 }),
    { kind: 'give-up' },
  );
});

test('a permanent failure is given up at once; a denial never costs an attempt', () => {
  assert.deepEqual(
    decideRetry(policy, { failed: 1, denied: 0 }, { failure: failure('permanent'), dice: 0 }),
    { kind: 'give-up' },
  );
  assert.equal(
    decideRetry(policy, { failed: 3, denied: 50 }, { failure: failure('denied'), dice: 0 }).kind,
    'retry',
  );
});

test('jitter moves a delay both ways, and a delay that the failure asks for is never shortened', () => {
  const jittery = { ...policy, jitter: 0.5 };
  const at = (dice: number, afterMs?: number): unknown =>
    decideRetry(
      jittery,
      { failed: 1, denied: 0 },
      { failure: failure('retryable'), dice, ...(afterMs === undefined ? {} : { afterMs }) },
    );
  assert.deepEqual(at(0), { kind: 'retry', delayMs: 50 });
  assert.deepEqual(at(0.999), { kind: 'retry', delayMs: 150 });
  assert.deepEqual(at(0, 5_000), { kind: 'retry', delayMs: 5_000 });
});
