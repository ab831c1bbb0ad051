import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { parseLeaseKey } from '../../src/index.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import type { Taken, WorkerApi } from './children/worker-api.ts';
import type { Backend } from './stage/backend.ts';
import type { Child } from './stage/child.ts';
import { Stage } from './stage/stage.ts';
import { until } from './stage/until.ts';

const TTL_MS = 1_500;
/** P4: the time limit for an owner after a dead one. */
const RECOVERY_MS_MAX = recoveryBoundMs(TTL_MS);
/** So long that a test which waited for it would exceed its time limit. */
const NEVER_MS = 600_000;
const KEYS = ['north', 'east', 'south', 'west', 'centre'];

export function registerRecovery(backend: Backend): void {
  describe(`the end of an owner on ${backend.name}`, () => {
    after(() => backend.end());

    test('P4: all leases of a killed process are owned again within TTL + 2 s by waiters', () =>
      killWithWaiters(backend));

    test('P4: all leases of a killed process are owned again in time by a process that asks after the kill', () =>
      killThenAsk(backend));

    test('L-3: a process that closes its session hands everything over at once', () =>
      closeGracefully(backend));
  });
}

async function killWithWaiters(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const owner = await worker(stage, 'owner', TTL_MS);
  const before = await takeAll(owner);
  const heirs = await Promise.all(['heir 1', 'heir 2'].map((name) => worker(stage, name, TTL_MS)));
  const taking = KEYS.map((key) => inherited(heirs, key));
  await until('all are in the queue', async () => {
    const waiting = await Promise.all(KEYS.map((key) => waitingFor(stage, key)));
    return waiting.every((count) => count === heirs.length);
  });
  const killedAt = performance.now();
  await owner.kill();
  const after = await Promise.all(taking);
  const tookMs = performance.now() - killedAt;
  assert.ok(tookMs <= RECOVERY_MS_MAX, `P4: it took ${Math.round(tookMs)} ms`);
  for (const [index, taken] of after.entries()) {
    assert.deepEqual([taken.kind, taken.exit], ['acquired', 'expired']);
    assert.equal(taken.restored, `progress of ${KEYS[index]}`);
    assert.ok(taken.fence > (before[index] ?? Number.POSITIVE_INFINITY));
  }
}

async function killThenAsk(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const owner = await worker(stage, 'owner', TTL_MS);
  const heir = await worker(stage, 'heir', TTL_MS);
  const before = await takeAll(owner);
  const killedAt = performance.now();
  await owner.kill();
  const after = await Promise.all(KEYS.map((key) => heir.call('acquire', { key, wait: true })));
  const tookMs = performance.now() - killedAt;
  assert.ok(tookMs <= RECOVERY_MS_MAX, `P4: it took ${Math.round(tookMs)} ms`);
  for (const taken of after) {
    assert.deepEqual([taken.kind, taken.exit], ['acquired', 'expired']);
    assert.ok(taken.fence > Math.max(...before));
  }
}

async function closeGracefully(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const owner = await worker(stage, 'owner', NEVER_MS);
  const heir = await worker(stage, 'heir', TTL_MS);
  const before = await takeAll(owner);
  const taking = KEYS.map((key) => heir.call('acquire', { key, wait: true }));
  await until('the heir is in every queue', async () => {
    const waiting = await Promise.all(KEYS.map((key) => waitingFor(stage, key)));
    return waiting.every((count) => count === 1);
  });
  assert.equal((await owner.call('close', null)).kind, 'ended');
  for (const taken of await Promise.all(taking)) {
    assert.deepEqual([taken.kind, taken.exit], ['acquired', 'finished']);
    assert.ok(taken.fence > Math.max(...before));
  }
}

/** The result of the first heir; the others wait until the stage is cleared. */
function inherited(heirs: readonly Child<WorkerApi>[], key: string): Promise<Taken> {
  return Promise.race(heirs.map((heir) => heir.call('acquire', { key, wait: true })));
}

async function takeAll(owner: Child<WorkerApi>): Promise<readonly number[]> {
  const fences: number[] = [];
  for (const key of KEYS) {
    const taken = await owner.call('acquire', { key });
    assert.equal(taken.kind, 'acquired');
    const saved = await owner.call('checkpoint', { key, text: `progress of ${key}` });
    assert.equal(saved.kind, 'saved');
    fences.push(taken.fence);
  }
  return fences;
}

async function waitingFor(stage: Stage, key: string): Promise<number> {
  return (await stage.store.leases.inspect(parseLeaseKey(key))).waiting;
}

async function worker(stage: Stage, owner: string, ttlMs: number): Promise<Child<WorkerApi>> {
  const child = stage.start<WorkerApi>('children/worker.ts');
  await child.call('open', { store: stage.address, owner, ttlMs });
  return child;
}
