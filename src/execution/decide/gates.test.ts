import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Instant, toInstant } from '../../support/clock.ts';
import { seededRandom } from '../../support/random.ts';
import { decideRate, hasFreePlace, type RateState } from './gates.ts';

function turns(rate: { limit: number; perMs: number }, asked: readonly number[]): number[] {
  let state: RateState | undefined;
  return asked.map((at) => {
    const turn = decideRate(state, rate, toInstant(at));
    state = turn.state;
    return turn.at;
  });
}

test('X-12: a burst, a pause, then evenly', () => {
  const rate = { limit: 3, perMs: 900 };
  assert.deepEqual(turns(rate, Array(8).fill(0)), [0, 0, 0, 900, 1_200, 1_500, 1_800, 2_100]);
  assert.deepEqual(turns({ limit: 1, perMs: 50 }, [0, 0, 0, 500]), [0, 50, 100, 500]);
  assert.deepEqual(turns({ limit: 3, perMs: 1_000 }, [0, 0, 0, 0, 0]), [0, 0, 0, 1_000, 1_334]);
});

test('X-12: a burst comes back when the key was idle for its time, and not before', () => {
  const rate = { limit: 2, perMs: 100 };
  assert.deepEqual(turns(rate, [0, 0, 99, 199]), [0, 0, 100, 199]);
  assert.deepEqual(turns(rate, [0, 0, 100, 100, 100]), [0, 0, 100, 100, 200]);
});

test('X-12: no more than the limit in any time, whenever they ask, and no turn before it is asked for', () => {
  const random = seededRandom(17).next;
  for (let round = 0; round < 300; round += 1) {
    const limit = 1 + Math.floor(random() * 6);
    const perMs = 1 + Math.floor(random() * 50);
    let at = 0;
    const asked = Array.from({ length: 80 }, () => {
      at += random() < 0.5 ? 0 : Math.floor(random() * perMs * 1.5);
      return at;
    });
    const given = turns({ limit, perMs }, asked);
    for (const [nth, turn] of given.entries()) {
      assert.ok(turn >= (asked[nth] ?? 0));
      assert.ok(turn >= (given[nth - 1] ?? 0));
      const before = given[nth - limit];
      if (before !== undefined) assert.ok(turn - before >= perMs, `${limit} in ${perMs}: ${given}`);
    }
  }
});

test('X-12: a limit that was lowered counts at once', () => {
  const start = toInstant(0);
  const { state } = decideRate(undefined, { limit: 10, perMs: 100 }, start);
  const lowered = decideRate(state, { limit: 1, perMs: 100 }, start);
  assert.equal(lowered.at, 100 as Instant);
  assert.equal(hasFreePlace({ taken: 2, limit: 1 }), false);
});
