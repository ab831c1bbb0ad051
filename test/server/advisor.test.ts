// A coordinator's advice on the ttl: its measurements, the given values, and the result.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import { Advisor } from '../../src/server/advisor.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemRandom } from '../../src/support/random.ts';
import { TestCoordinator } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

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

test('measured heartbeats are used once there are enough to know the slowest in a thousand', async () => {
  let now = 0;
  // Each read of the clock advances it, so that every heartbeat takes three milliseconds.
  const advisor = new Advisor({ monotonicMs: () => (now += 3) });
  await beat(advisor, 499);
  const { measured, heartbeats, assumed } = advisor.advise({ query: {}, live: [], isOfAll: true });
  assert.deepEqual([measured, heartbeats, assumed.roundTripMs], [[], 499, 5]);
  await beat(advisor, 1);
  const live = [SESSION, SESSION];
  const later = advisor.advise({ query: { roundTripTailMs: 80 }, live, isOfAll: true });
  assert.deepEqual(later.measured, ['ttlMs', 'graceMs', 'roundTripMs', 'failuresPer1000']);
  assert.deepEqual(
    [later.sessions, later.assumed.ttlMs, later.assumed.failuresPer1000],
    [2, 60_000, 0],
  );
  assert.ok(Math.abs(later.assumed.roundTripMs - 3) < 0.1, `${later.assumed.roundTripMs}`);
  assert.equal(later.assumed.roundTripTailMs, 80, 'a given value comes first');
  const ofOne = advisor.advise({ query: {}, live, isOfAll: false });
  assert.deepEqual([ofOne.measured, ofOne.heartbeats], [['ttlMs', 'graceMs'], 0]);
  assert.equal(ofOne.assumed.roundTripMs, 5, 'nothing that was measured of others');
});

test('the client gets advice; impossible goals and callers without the operate role are refused', async () => {
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

test('a key of one project sees no sessions of others, and they hide none of its own', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { store } = coordinator;
  const open = (first: string, project: string, ttlMs: number): Promise<unknown> => {
    const id = `${first}${systemRandom.uuid().slice(8)}` as SessionId;
    const metadata = { 'holdfast.project': project };
    return store.sessions.open({ ...SESSION, id, ttlMs, metadata });
  };
  for (let count = 0; count < 501; count += 1) await open('00000000', 'theirs', 60_000);
  await open('ffffffff', 'ours', 90_000);
  const theirs = await RawWorker.open(coordinator, 'theirs');
  const beat = `/v1/work/sessions/${theirs.session}/heartbeat`;
  assert.equal((await theirs.call('POST', beat, { owner: 'theirs' })).status, 200);
  const asked = (project?: string): ReturnType<TestCoordinator['client']> =>
    coordinator.client(['operate'], project);
  const ours = await (await asked('ours')).sessions.advice();
  assert.deepEqual([ours.heartbeats, ours.sessions, ours.assumed.ttlMs], [0, 1, 90_000]);
  await coordinator.key(['operate'], 'default');
  const all = await (await asked()).sessions.advice();
  assert.ok(all.heartbeats > 0 && all.sessions === 500);
});
