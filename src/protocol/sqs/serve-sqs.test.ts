import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KNOWN_MAX, KnownWorkers } from './serve-sqs.ts';

test('M-11: a key has a bounded number of workers with wakeups, the latest ones, and none of another key', () => {
  const known = new KnownWorkers();
  known.onMessage({ kid: 'b', replyTo: 'own' }, 0);
  known.onMessage({ kid: 'a', replyTo: 'first' }, 0);
  for (let nth = 1; nth < KNOWN_MAX; nth += 1) known.onMessage({ kid: 'a', replyTo: `q${nth}` }, 0);
  known.onMessage({ kid: 'a', replyTo: 'first' }, 1);
  known.onMessage({ kid: 'a', replyTo: 'own' }, 1);
  const all = known.all(1);
  assert.equal(all.length, KNOWN_MAX + 1);
  const has = (kid: string, replyTo: string): boolean =>
    all.some((each) => each.kid === kid && each.replyTo === replyTo);
  assert.deepEqual(
    [has('b', 'own'), has('a', 'own'), has('a', 'first'), has('a', 'q1'), has('a', 'q2')],
    [true, true, true, false, true],
  );
});

test('M-11: a worker that was silent for long, or cannot be written to, gets no more wakeups', () => {
  const known = new KnownWorkers();
  known.onMessage({ kid: 'a', replyTo: 'old' }, 0);
  known.onMessage({ kid: 'a', replyTo: 'gone' }, 100_000);
  known.onMessage({ kid: 'a', replyTo: 'here' }, 100_000);
  known.forget({ kid: 'a', replyTo: 'gone' });
  assert.deepEqual(known.all(150_000), [{ kid: 'a', replyTo: 'here' }]);
});
