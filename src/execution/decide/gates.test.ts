import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Instant, laterBy, toInstant } from '../../support/clock.ts';
import { seededRandom } from '../../support/random.ts';
import type { ExecutionRecord, RateKey } from '../execution.ts';
import type { ExecutionId, Payload, PipelineName, ProjectName } from '../names.ts';
import { decideGate, decideRate, hasFreeSlot, type RateState, type RateTurns } from './gates.ts';
import { insertion } from './submit.ts';

function turns(rate: { limit: number; perMs: number }, asked: readonly number[]): number[] {
  let state: RateTurns | undefined;
  return asked.map((at) => {
    const turn = decideRate(state, rate, toInstant(at));
    state = turn.state;
    return turn.at;
  });
}

test('X-12, X-66: starts come as a burst, then a pause, then evenly', () => {
  const rate = { limit: 3, perMs: 900 };
  assert.deepEqual(turns(rate, Array(8).fill(0)), [0, 0, 0, 900, 1_200, 1_500, 1_800, 2_100]);
  assert.deepEqual(turns({ limit: 1, perMs: 50 }, [0, 0, 0, 500]), [0, 50, 100, 500]);
  assert.deepEqual(turns({ limit: 3, perMs: 1_000 }, [0, 0, 0, 0, 0]), [0, 0, 0, 1_000, 1_334]);
});

test('X-12, X-66: a burst is allowed again once the key was idle for its period, and not before', () => {
  const rate = { limit: 2, perMs: 100 };
  assert.deepEqual(turns(rate, [0, 0, 99, 199]), [0, 0, 100, 199]);
  assert.deepEqual(turns(rate, [0, 0, 100, 100, 100]), [0, 0, 100, 100, 200]);
});

test('X-12: no more than the limit start in any period, and no turn lies before its request', () => {
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

test('X-12: a lowered limit counts at once', () => {
  const start = toInstant(0);
  const { state } = decideRate(undefined, { limit: 10, perMs: 100 }, start);
  const lowered = decideRate(state, { limit: 1, perMs: 100 }, start);
  assert.equal(lowered.at, 100 as Instant);
  assert.equal(hasFreeSlot({ taken: 2, limit: 1 }), false);
});

/** Claims that arrive at random times, however late, and take everything that is ready. */
function startsOf(rate: RateKey, count: number, pollMs: () => number): number[] {
  let state: RateState | undefined;
  let waiting = Array.from({ length: count }, (_, nth) => queuedWith(rate, nth));
  const starts: number[] = [];
  for (let now = toInstant(0); waiting.length > 0; now = laterBy(now, pollMs())) {
    const due = waiting
      .filter(({ readyAt = now }) => readyAt <= now)
      .sort((a, b) => (a.readyAt ?? 0) - (b.readyAt ?? 0) || (a.id < b.id ? -1 : 1));
    for (const execution of due) {
      const decision = decideGate({ execution, slots: undefined, rate: state }, now);
      assert.notEqual(decision.kind, 'over-limit');
      if (decision.kind === 'over-limit') return [];
      state = decision.rate;
      waiting = waiting.filter(({ id }) => id !== execution.id);
      if (decision.kind === 'pass') starts.push(now);
      else waiting.push(decision.execution);
    }
  }
  return starts;
}

function queuedWith(rate: RateKey, nth: number): ExecutionRecord {
  const request = {
    id: String(nth).padStart(6, '0') as ExecutionId,
    lineage: 'lineage' as ExecutionId,
    project: 'default' as ProjectName,
    pipeline: 'orders' as PipelineName,
    lane: 'interactive',
    input: '' as Payload,
    tags: [],
    attributes: {},
    rate,
  } as const;
  return insertion(request, toInstant(0)).execution;
}

test('X-12, X-68: no more than the limit start in any period, however late claims take their turns', () => {
  const random = seededRandom(23).next;
  for (let round = 0; round < 120; round += 1) {
    const limit = 1 + Math.floor(random() * (round % 10 === 0 ? 400 : 8));
    const perMs = 1 + Math.floor(random() * 300);
    const lateness = random() * 3;
    const starts = startsOf({ key: 'k', limit, perMs }, 4 * limit, () =>
      Math.ceil(random() * random() * perMs * lateness),
    );
    for (const [nth, at] of starts.entries()) {
      const before = starts[nth - limit];
      if (before !== undefined) assert.ok(at - before >= perMs, `${limit} in ${perMs}: ${starts}`);
    }
  }
});

test('X-12: late claims reach the limit too', () => {
  for (const limit of [5, 250]) {
    const starts = startsOf({ key: 'k', limit, perMs: 1_000 }, 4 * limit, () => 7);
    const lastAt = starts.at(-1) ?? 0;
    assert.ok(lastAt <= 4_200, `${4 * limit} with ${limit} a second took ${lastAt} ms`);
  }
});
