import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, describe, test } from 'node:test';
import { parseLeaseKey } from '../../src/index.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import type { Taken, WorkerApi } from './children/worker-api.ts';
import { acceptedOnly, outOfOrder } from './oracle/record.ts';
import type { Backend } from './stage/backend.ts';
import type { Child } from './stage/child.ts';
import { type Oracle, Stage } from './stage/stage.ts';
import { until } from './stage/until.ts';

const TTL_MS = 1_500;
/** P4: the time limit for replacing a stopped owner. */
const RECOVERY_MS_MAX = recoveryBoundMs(TTL_MS);
const KEY = 'the-ledger';

export function registerFreeze(backend: Backend): void {
  describe(`SIGSTOP of the holder on ${backend.name}`, () => {
    after(() => backend.end());

    test('P1, P4, C-5: a frozen holder is replaced; when it wakes it notices, and store and resource refuse it', () =>
      refuseTheLateWriter(backend));

    test('control: without the check at the resource, the same late write violates P1', () =>
      violateWithoutCheck(backend));

    test('G-3: a holder that was frozen into the grace but not past it keeps its term', () =>
      rejoinWithinGrace(backend));
  });
}

interface Scene {
  readonly old: Child<WorkerApi>;
  readonly standby: Child<WorkerApi>;
  readonly first: Taken;
  readonly second: Taken;
  /** Wakes the old holder. Returns the result of its first `assertHeld`. */
  readonly thaw: () => Promise<unknown>;
  readonly recoveredInMs: number;
}

/** Ends with the old holder frozen and the standby holding. */
async function freezeAndReplace(stage: Stage, oracle: Oracle): Promise<Scene> {
  const [old, standby] = await workers(stage, { ttlMs: TTL_MS });
  const first = await old.call('acquire', { key: KEY });
  assert.equal(first.kind, 'acquired');
  assert.equal((await old.call('checkpoint', { key: KEY, text: 'row 41' })).kind, 'saved');
  assert.equal((await old.call('intent', { key: KEY, effect: 'pay:row-42' })).kind, 'begun');
  await old.call('write', { key: KEY, port: oracle.port, effect: 'row 41' });

  const taking = standby.call('acquire', { key: KEY, wait: true });
  await until('the standby is in the queue', async () => (await inspect(stage)).waiting === 1);
  const thaw = await freeze(stage, old);
  const frozenAt = performance.now();
  const second = await taking;
  const recoveredInMs = performance.now() - frozenAt;
  assert.equal(second.kind, 'acquired');
  await standby.call('write', { key: KEY, port: oracle.port, effect: 'row 42 by the standby' });
  return { old, standby, first, second, thaw, recoveredInMs };
}

async function refuseTheLateWriter(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('checked');
  const scene = await freezeAndReplace(stage, oracle);
  const { old, standby, first, second, recoveredInMs } = scene;
  assert.ok(recoveredInMs <= RECOVERY_MS_MAX, `P4: it took ${Math.round(recoveredInMs)} ms`);
  assert.ok(second.fence > first.fence, 'T-2: the successor has a higher fence');
  assert.deepEqual(
    { exit: second.exit, restored: second.restored, intents: second.intents },
    { exit: 'expired', restored: 'row 41', intents: ['pay:row-42'] },
  );

  assert.deepEqual(await scene.thaw(), { kind: 'threw', why: 'lapsed' });
  const late = await old.call('write', { key: KEY, port: oracle.port, effect: 'row 42, late' });
  assert.deepEqual(late, { kind: 'refused', newest: second.fence });
  await assertRefusedAtStore(old);
  assert.equal((await old.call('checkpoint', { key: KEY, text: 'late' })).kind, 'not-held');
  assert.equal((await old.call('release', { key: KEY, exit: 'finished' })).kind, 'not-held');
  assert.equal((await old.call('rejoin', { key: KEY })).kind, 'not-held');

  const { record, state } = await inspect(stage);
  assert.deepEqual([state, record?.fence], ['held', second.fence], 'the successor still holds');
  assert.equal(Buffer.from(record?.checkpoint?.bytes ?? []).toString(), 'row 41');
  assert.equal((await standby.call('checkpoint', { key: KEY, text: 'row 42' })).kind, 'saved');
  const records = await oracle.records();
  assert.deepEqual(outOfOrder(records), []);
  assert.deepEqual(
    acceptedOnly(records).map((record) => record.effect),
    ['row 41', 'row 42 by the standby'],
  );
}

/** T-6, K-4, L-4: bypassing the library's checks, the store refuses each of these. */
async function assertRefusedAtStore(old: Child<WorkerApi>): Promise<void> {
  const superseded = { kind: 'refused', why: 'superseded' };
  const checkpoint = { key: KEY, seq: 2, text: 'late' };
  assert.deepEqual(await old.call('checkpointAtStore', checkpoint), superseded);
  assert.deepEqual(await old.call('intentAtStore', { key: KEY, effect: 'late' }), superseded);
  assert.deepEqual(await old.call('releaseAtStore', { key: KEY }), superseded);
  assert.deepEqual(await old.call('heartbeat', null), { kind: 'refused', why: 'session-expired' });
}

async function violateWithoutCheck(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('unchecked');
  const { old, first, second, thaw } = await freezeAndReplace(stage, oracle);
  await thaw();
  const late = await old.call('write', { key: KEY, port: oracle.port, effect: 'row 42, late' });
  assert.deepEqual(late, { kind: 'accepted' });
  const records = await oracle.records();
  assert.deepEqual(
    outOfOrder(records).map(({ fence, effect }) => ({ fence, effect })),
    [{ fence: first.fence, effect: 'row 42, late' }],
  );
  assert.deepEqual(
    records.map((record) => record.fence),
    [first.fence, second.fence, first.fence],
  );
}

async function rejoinWithinGrace(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const oracle = await stage.oracle('checked');
  const [old, standby] = await workers(stage, { ttlMs: 10_000, graceMs: 5_000 });
  const first = await old.call('acquire', { key: KEY });
  const taking = standby.call('acquire', { key: KEY, wait: true });
  await until('the standby is in the queue', async () => (await inspect(stage)).waiting === 1);

  const thaw = await freeze(stage, old);
  await until('the lease has lapsed', async () => (await inspect(stage)).state === 'lapsed');
  assert.deepEqual(await thaw(), { kind: 'threw', why: 'lapsed' });
  const rejoined = await old.call('rejoin', { key: KEY });
  assert.deepEqual(rejoined, { kind: 'rejoined', fence: first.fence });
  assert.deepEqual(await old.call('assertHeld', { key: KEY }), { kind: 'held' });
  assert.equal((await old.call('checkpoint', { key: KEY, text: 'after' })).kind, 'saved');
  const write = await old.call('write', { key: KEY, port: oracle.port, effect: 'after' });
  assert.equal(write.kind, 'accepted');

  const { record, state, waiting } = await inspect(stage);
  assert.deepEqual([state, record?.fence, waiting], ['held', first.fence, 1]);
  await old.call('release', { key: KEY, exit: 'finished' });
  const second = await taking;
  assert.deepEqual([second.kind, second.exit, second.restored], ['acquired', 'finished', 'after']);
  await standby.call('write', { key: KEY, port: oracle.port, effect: 'by the standby' });
  assert.deepEqual(outOfOrder(await oracle.records()), []);
}

/** Freezes the holder right after a heartbeat. */
async function freeze(stage: Stage, old: Child<WorkerApi>): Promise<Scene['thaw']> {
  const thawed = stage.file('thawed');
  assert.equal((await old.call('heartbeat', null)).kind, 'alive');
  const spinning = old.next('spinning');
  const noticed = old.call('spinUntilThawed', { key: KEY, thawed });
  await spinning;
  old.freeze();
  return async () => {
    await writeFile(thawed, '');
    old.thaw();
    return noticed;
  };
}

function inspect(stage: Stage) {
  return stage.store.leases.inspect(parseLeaseKey(KEY));
}

async function workers(
  stage: Stage,
  life: { readonly ttlMs: number; readonly graceMs?: number },
): Promise<readonly [Child<WorkerApi>, Child<WorkerApi>]> {
  const old = stage.start<WorkerApi>('children/worker.ts');
  const standby = stage.start<WorkerApi>('children/worker.ts');
  const store = stage.address;
  await Promise.all([
    old.call('open', { store, owner: 'old holder', ...life }),
    standby.call('open', { store, owner: 'standby', ...life }),
  ]);
  return [old, standby];
}
