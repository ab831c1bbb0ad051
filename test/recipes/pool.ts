import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { OracleClient } from '../processes/oracle/client.ts';
import {
  type OracleRecord,
  outOfOrder,
  overlaps,
  sharedFences,
} from '../processes/oracle/record.ts';
import type { Backend } from '../processes/stage/backend.ts';
import type { Child } from '../processes/stage/child.ts';
import { type Oracle, Stage } from '../processes/stage/stage.ts';
import { until } from '../processes/stage/until.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import { isFullRun } from '../services/tier.ts';
import { ChildEvents } from './child-events.ts';
import type { Entered, MemberApi } from './children/member.ts';

// Long enough for heartbeats on a machine that runs other tests too.
const TTL_MS = 2_500;
/** P4: the time limit for new owners of a dead member's keys. */
const RECOVERY_MS_MAX = recoveryBoundMs(TTL_MS);
const KEYS = Array.from({ length: 12 }, (_, number) => `partition-${number}`);

export function registerPool(backend: Backend): void {
  describe(`pool on ${backend.name}`, () => {
    after(() => backend.end());

    test('P4, V-4: shares are equal; the keys of a killed member are taken over, and move to one that joins', () =>
      killAndJoin(backend));

    test('keys are added and removed while the members run', () => changeKeys(backend));

    test('a permanent error removes a key from the pool for all members, and the rest is shared anew', () =>
      dropHopeless(backend));

    if (!isFullRun()) return;
    test('P1: a frozen member loses its keys, stops their work when it wakes, and gets its share again', () =>
      freezeMember(backend));
  });
}

interface Member {
  readonly owner: string;
  readonly child: Child<MemberApi>;
  readonly entered: ChildEvents<Entered>;
}

interface Scene {
  readonly stage: Stage;
  readonly oracle: Oracle;
}

async function join(
  { stage, oracle }: Scene,
  owner: string,
  hopeless: readonly string[] = [],
): Promise<Member> {
  const child = stage.start<MemberApi>('../recipes/children/member.ts');
  const entered = new ChildEvents<Entered>(child, 'entered');
  const { address: store } = stage;
  const input = { owner, ttlMs: TTL_MS, keys: KEYS, hopeless, store, oraclePort: oracle.port };
  await child.call('join', input);
  return { owner, child, entered };
}

function joinAll(scene: Scene, hopeless: readonly string[] = []): Promise<readonly Member[]> {
  return Promise.all(['ann', 'bob', 'cat'].map((owner) => join(scene, owner, hopeless)));
}

/** Every key is held once, and no member has two more than another. */
async function untilBalanced(members: readonly Member[], keys: readonly string[]): Promise<void> {
  let last: readonly (readonly string[])[] = [];
  const isSo = async (): Promise<boolean> => {
    last = await Promise.all(members.map(({ child }) => child.call('held', null)));
    const sizes = last.map((held) => held.length);
    const isEqual = Math.max(...sizes) - Math.min(...sizes) <= 1;
    return isEqual && last.flat().sort().join() === [...keys].sort().join();
  };
  await until(`${keys.length} keys are shared by ${members.length}`, isSo).catch((error: Error) => {
    const shown = members.map(({ owner }, index) => `${owner}: ${last[index]?.join(' ')}`);
    throw new Error(`${error.message}; held now: ${shown.join('; ')}`);
  });
}

async function killAndJoin(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const scene = { stage, oracle: await stage.oracle('unchecked') };
  const [ann, bob, cat] = await joinAll(scene);
  assert.ok(ann && bob && cat);
  await untilBalanced([ann, bob, cat], KEYS);

  const left = await cat.child.call('held', null);
  assert.equal(left.length, 4);
  const killedAt = Date.now();
  await cat.child.kill();
  await leaveFor(scene.oracle, cat);
  await untilBalanced([ann, bob], KEYS);
  const taken = (): readonly string[] =>
    [...ann.entered.all, ...bob.entered.all]
      .filter(({ exit }) => exit === 'expired')
      .map(({ key }) => key);
  await until('work on each has begun', () => taken().length >= left.length);
  assert.deepEqual([...taken()].sort(), [...left].sort());
  const enters = (await scene.oracle.records()).filter(
    ({ effect, wallMs }) => effect.endsWith(' enter') && wallMs >= killedAt,
  );
  const latest = Math.max(...enters.map(({ wallMs }) => wallMs));
  assert.ok(latest - killedAt <= RECOVERY_MS_MAX, `P4: it took ${latest - killedAt} ms`);

  const dan = await join(scene, 'dan');
  await untilBalanced([ann, bob, dan], KEYS);
  await until('work on each has begun', () => dan.entered.all.length >= 4);
  for (const { key, exit, fenceBefore, checkpointFence } of dan.entered.all) {
    assert.equal(exit, 'yielded', `${key} was not given up`);
    assert.equal(checkpointFence, fenceBefore, `${key} was not checkpointed before it moved`);
  }
  await Promise.all([ann, bob, dan].map(({ child }) => child.call('stop', null)));
  assert.equal(dan.entered.all.length, 4, 'no key moved more often than it had to');
  await assertOneWorkerPerKey(scene.oracle);
}

async function changeKeys(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const scene = { stage, oracle: await stage.oracle('unchecked') };
  const members = await joinAll(scene);
  await untilBalanced(members, KEYS);
  const changed = [...KEYS.slice(2), 'new-1', 'new-2', 'new-3'];
  await Promise.all(members.map(({ child }) => child.call('setKeys', changed)));
  await untilBalanced(members, changed);
  await Promise.all(members.map(({ child }) => child.call('stop', null)));
  const records = await scene.oracle.records();
  for (const key of KEYS.slice(0, 2)) {
    const last = records.findLast(({ effect }) => effect.startsWith(`${key} `));
    assert.equal(last?.effect, `${key} leave`, 'its work was stopped, not cut off');
  }
  await assertOneWorkerPerKey(scene.oracle);
}

async function dropHopeless(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const scene = { stage, oracle: await stage.oracle('unchecked') };
  const hopeless = KEYS.slice(0, 5);
  const members = await joinAll(scene, hopeless);
  await until('all members know the dropped keys', async () => {
    const dropped = await Promise.all(members.map(({ child }) => child.call('dropped', null)));
    return dropped.every((keys) => keys.join() === [...hopeless].sort().join());
  });
  await untilBalanced(members, KEYS.slice(5));
  const retired = (await stage.store.leases.list({ limit: 100 })).filter(
    ({ state }) => state === 'retired',
  );
  assert.equal(retired.length, hopeless.length, 'they are retired at the store');
  const newcomer = await join(scene, 'dan');
  await untilBalanced([...members, newcomer], KEYS.slice(5));
  assert.deepEqual(await newcomer.child.call('dropped', null), [...hopeless].sort());
  await assertOneWorkerPerKey(scene.oracle);
}

async function freezeMember(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const scene = { stage, oracle: await stage.oracle('unchecked') };
  const [ann, bob, cat] = await joinAll(scene);
  assert.ok(ann && bob && cat);
  await untilBalanced([ann, bob, cat], KEYS);
  cat.child.freeze();
  await leaveFor(scene.oracle, cat);
  await untilBalanced([ann, bob], KEYS);
  cat.child.thaw();
  await untilBalanced([ann, bob, cat], KEYS);
  await Promise.all([ann, bob, cat].map(({ child }) => child.call('stop', null)));
  await assertOneWorkerPerKey(scene.oracle);
}

/** A dead process does not report that it leaves, so the test does. */
async function leaveFor(oracle: Oracle, { owner }: Member): Promise<void> {
  const witness = await OracleClient.connect(oracle.port);
  for (const [key, records] of byKey(await oracle.records())) {
    const last = records.at(-1);
    if (last?.who !== owner || last.effect === 'leave') continue;
    await witness.write({ fence: last.fence, effect: `${key} leave`, who: owner });
  }
  witness.close();
}

async function assertOneWorkerPerKey(oracle: Oracle): Promise<void> {
  for (const [key, records] of byKey(await oracle.records())) {
    assert.deepEqual(outOfOrder(records), [], `${key}: effects are in the order of fences`);
    assert.deepEqual(overlaps(records), [], `${key}: no two members work at once`);
    assert.deepEqual(sharedFences(records), [], key);
  }
}

/** The oracle's records of each key, with the key removed from the effect. */
function byKey(records: readonly OracleRecord[]): ReadonlyMap<string, readonly OracleRecord[]> {
  const keys = Map.groupBy(records, ({ effect }) => effect.split(' ')[0] ?? '');
  return new Map(
    [...keys].map(([key, found]) => [
      key,
      firstLeaves(
        found.map((record) => ({ ...record, effect: record.effect.slice(key.length + 1) })),
      ),
    ]),
  );
}

/** `leaveFor` reported it first for a frozen member, which reports it again when it wakes. */
function firstLeaves(records: readonly OracleRecord[]): readonly OracleRecord[] {
  const gone = new Set<number>();
  return records.filter(({ effect, fence }) => {
    if (effect !== 'leave') return true;
    const isFirst = !gone.has(fence);
    gone.add(fence);
    return isFirst;
  });
}
