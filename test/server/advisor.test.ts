// Which ttl, asked of a coordinator: what it has measured, what it was told, what follows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import { Advisor } from '../../src/server/advisor.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { systemRandom } from '../../src/support/random.ts';
import { TestCoordinator } from './coordinator.ts';

const SESSION = { owner: 'holder' as Owner, ttlMs: 60_000, graceMs: 12_000, metadata: {} } as const;

async function beat(advisor: Advisor, times: number): Promise<void> {
  const store = advisor.watch(openMemoryStore());
  const id = systemRandom.uuid() as SessionId;
  await store.sessions.open({ id, ...SESSION });
  for (let count = 0; count < times; count += 1) {
    await store.sessions.heartbeat({ id, owner: SESSION.owner });
  }
  await store.close();
}

test('heartbeats count as measured when there are enough of them to know how late one in a thousand is', async () => {
  let now = 0;
  // Reading the clock takes its time, so that every heartbeat takes three of it.
  const advisor = new Advisor({ monotonicMs: () => (now += 3) });
  await beat(advisor, 499);
  const { measured, heartbeats, assumed } = advisor.advise({ query: {}, live: [] });
  assert.deepEqual([measured, heartbeats, assumed.roundTripMs], [[], 499, 5]);
  await beat(advisor, 1);
  const later = advisor.advise({ query: { roundTripTailMs: 80 }, live: [SESSION, SESSION] });
  assert.deepEqual(later.measured, ['ttlMs', 'graceMs', 'roundTripMs', 'failuresPer1000']);
  assert.deepEqual(
    [later.sessions, later.assumed.ttlMs, later.assumed.failuresPer1000],
    [2, 60_000, 0],
  );
  assert.ok(Math.abs(later.assumed.roundTripMs - 3) < 0.1, `${later.assumed.roundTripMs}`);
  assert.equal(later.assumed.roundTripTailMs, 80, 'what is said comes first');
});

test('the client asks; what cannot be meant is refused, and so is who may not operate', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { sessions } = await coordinator.client(['operate'], 'default');
  const calm = { preset: 'interactive', ttlMs: 60_000, pauseMs: 100 } as const;
  const { advice, assumed } = await sessions.advice(calm);
  assert.ok(advice.kind === 'recommendation');
  assert.equal(advice.verdict, 'change');
  assert.ok(advice.predicted.takeoverP99Ms <= 15_000 && advice.current.takeoverP99Ms > 15_000);
  assert.ok(advice.points.some(({ keeps }) => keeps) && advice.points.some(({ keeps }) => !keeps));
  assert.equal(assumed.pauseMs, 100);
  const restless = await sessions.advice({ ...calm, pauseMs: 5_000 });
  assert.ok(restless.advice.kind === 'goals-conflict');
  assert.deepEqual(restless.advice.between, ['false-losses', 'takeover']);
  await assert.rejects(sessions.advice({ ttlMs: 0 }), { status: 400 });
  const submitter = await coordinator.client(['submit'], 'default');
  await assert.rejects(submitter.sessions.advice(), { code: 'role-missing' });
});
