import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { parseLeaseKey } from '../../src/index.ts';
import { OracleClient } from '../processes/oracle/client.ts';
import { acceptedOnly, outOfOrder, overlaps, sharedFences } from '../processes/oracle/record.ts';
import type { Backend } from '../processes/stage/backend.ts';
import type { Child } from '../processes/stage/child.ts';
import { type Oracle, Stage } from '../processes/stage/stage.ts';
import { until } from '../processes/stage/until.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import { isFullRun } from '../services/tier.ts';
import { ChildEvents } from './child-events.ts';
import type { CandidateApi, Leads } from './children/candidate.ts';

// Long enough for heartbeats on a machine that runs other tests too.
const TTL_MS = 2_500;
/** P4: the time limit for replacing a dead or stopped leader. */
const RECOVERY_MS_MAX = recoveryBoundMs(TTL_MS);
const KEY = parseLeaseKey('scheduler');

export function registerElect(backend: Backend): void {
  describe(`elect on ${backend.name}`, () => {
    after(() => backend.end());

    test('P4: when the leader is killed a standby leads within the ttl and 2 s', () =>
      killLeaders(backend));

    test('P1, P4: when the leader is frozen a standby leads; thawed, the old one stands by again', () =>
      freezeLeader(backend));

    test('L-7: a leader that stops finishes its work before the standby begins', () =>
      stopLeader(backend));

    test('A-7: a standby that waits for several ttls asks the store rarely', () =>
      waitWithoutTakeover(backend));

    test('G-3: the successor of a leader frozen into its grace gets the exit abandoned', () =>
      lapseLeader(backend));
  });
}

interface Candidate {
  readonly owner: string;
  readonly child: Child<CandidateApi>;
  readonly led: ChildEvents<Leads>;
}

async function stand(
  stage: Stage,
  oracle: Oracle,
  life: { readonly owner: string; readonly ttlMs?: number; readonly graceMs?: number },
): Promise<Candidate> {
  const child = stage.start<CandidateApi>('../recipes/children/candidate.ts');
  const led = new ChildEvents<Leads>(child, 'leads');
  const input = { ttlMs: TTL_MS, ...life, store: stage.address, oraclePort: oracle.port };
  await child.call('stand', input);
  return { owner: life.owner, child, led };
}

async function waitsInQueue(stage: Stage, count = 1): Promise<void> {
  await until('the others are in the queue', async () => {
    const { waiting } = await stage.store.leases.inspect(KEY);
    return waiting === count;
  });
}

/** Kills one leader after the other: each time the next one in the queue takes over. */
async function killLeaders(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('unchecked');
  const witness = await OracleClient.connect(oracle.port);
  const candidates: Candidate[] = [];
  const count = isFullRun() ? 8 : 3;
  for (let number = 1; number <= count; number += 1) {
    candidates.push(await stand(stage, oracle, { owner: `candidate-${number}` }));
    if (number === 1) await candidates[0]?.led.first('the first leads');
  }
  for (let left = count; left > 1; left -= 1) {
    await waitsInQueue(stage, left - 1);
    const leader = candidates.find(({ led }) => led.all.length > 0);
    assert.ok(leader !== undefined);
    candidates.splice(candidates.indexOf(leader), 1);
    const killedAt = performance.now();
    await leader.child.kill();
    const { fence = 0 } = leader.led.all.at(-1) ?? {};
    await witness.write({ fence, effect: 'leave', who: leader.owner });
    await until('another candidate leads', () => candidates.some(({ led }) => led.all.length > 0));
    const tookMs = performance.now() - killedAt;
    assert.ok(tookMs <= RECOVERY_MS_MAX, `P4: it took ${Math.round(tookMs)} ms`);
    const next = candidates.find(({ led }) => led.all.length > 0)?.led.all[0];
    assert.equal(next?.exit, 'expired');
    assert.ok(next.fence > fence);
  }
  witness.close();
  await assertOneAtATime(oracle);
}

async function freezeLeader(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('checked');
  const ann = await stand(stage, oracle, { owner: 'ann' });
  const first = await ann.led.first('ann leads');
  const bob = await stand(stage, oracle, { owner: 'bob' });
  await waitsInQueue(stage);
  ann.child.freeze();
  const frozenAt = performance.now();
  const second = await bob.led.first('bob leads');
  const tookMs = performance.now() - frozenAt;
  assert.ok(tookMs <= RECOVERY_MS_MAX, `P4: it took ${Math.round(tookMs)} ms`);
  assert.equal(second.exit, 'expired');
  assert.ok(second.fence > first.fence);

  ann.child.thaw();
  await waitsInQueue(stage);
  assert.equal(await ann.child.call('state', null), 'standby');
  await bob.child.call('stop', null);
  const third = await ann.led.first('ann leads again', ({ fence }) => fence > first.fence);
  assert.ok(third.fence > second.fence);
  assert.equal(third.exit, 'yielded');
  await ann.child.call('stop', null);
  assert.deepEqual(outOfOrder(await oracle.records()), []);
  assert.deepEqual(sharedFences(await oracle.records()), []);
}

async function stopLeader(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('unchecked');
  // So long a ttl that only a handoff can be as fast as this test must be.
  const ann = await stand(stage, oracle, { owner: 'ann', ttlMs: 60_000 });
  await ann.led.first('ann leads');
  const bob = await stand(stage, oracle, { owner: 'bob', ttlMs: 60_000 });
  await waitsInQueue(stage);
  await ann.child.call('stop', null);
  assert.equal(await ann.child.call('state', null), 'stopped');
  const next = await bob.led.first('bob leads');
  assert.equal(next.exit, 'yielded');
  await bob.child.call('stop', null);
  const around = acceptedOnly(await oracle.records()).filter(({ effect }) => effect !== 'work');
  assert.deepEqual(
    around.map(({ who, effect }) => `${who} ${effect}`),
    ['ann enter', 'ann leave', 'bob enter', 'bob leave'],
  );
  await assertOneAtATime(oracle);
}

async function waitWithoutTakeover(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('unchecked');
  const ann = await stand(stage, oracle, { owner: 'ann' });
  await ann.led.first('ann leads');
  const bob = await stand(stage, oracle, { owner: 'bob' });
  await waitsInQueue(stage);
  const before = await bob.child.call('calls', null);
  const startedAt = performance.now();
  const beats = await until3Ttls(bob.child, before.get('sessions.heartbeat') ?? 0);
  const tookMs = performance.now() - startedAt;
  const calls = await bob.child.call('calls', null);
  const since = (verb: string): number => (calls.get(verb) ?? 0) - (before.get(verb) ?? 0);
  // It asks every half second, at most a quarter sooner, and once more around the edges.
  const askedMax = Math.ceil(tookMs / 375) + 1;
  assert.ok(since('leases.acquire') <= askedMax, `it asked ${since('leases.acquire')} times`);
  const all = [...calls.keys()].reduce((sum, verb) => sum + since(verb), 0);
  assert.ok(all <= askedMax + beats + 1, `${all} calls in ${Math.round(tookMs)} ms`);
  assert.equal(await bob.child.call('state', null), 'standby');
}

/** Three heartbeats for each ttl. Returns how many there were. */
async function until3Ttls(child: Child<CandidateApi>, before: number): Promise<number> {
  let beats = 0;
  await until('the standby has sent nine heartbeats', async () => {
    beats = ((await child.call('calls', null)).get('sessions.heartbeat') ?? 0) - before;
    return beats >= 9;
  });
  return beats;
}

async function lapseLeader(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('checked');
  const ann = await stand(stage, oracle, { owner: 'ann', ttlMs: 4_000, graceMs: 2_000 });
  await ann.led.first('ann leads');
  const bob = await stand(stage, oracle, { owner: 'bob', ttlMs: 4_000 });
  await waitsInQueue(stage);
  ann.child.freeze();
  await until('the lease has lapsed', async () => {
    const { state } = await stage.store.leases.inspect(KEY);
    return state === 'lapsed';
  });
  ann.child.thaw();
  const next = await bob.led.first('bob leads');
  assert.equal(next.exit, 'abandoned');
  assert.deepEqual(outOfOrder(await oracle.records()), []);
}

async function assertOneAtATime(oracle: Oracle): Promise<void> {
  const records = await oracle.records();
  assert.deepEqual(outOfOrder(records), [], 'effects are in the order of fences');
  assert.deepEqual(overlaps(records), [], 'no two candidates work at once');
  assert.deepEqual(sharedFences(records), []);
}
