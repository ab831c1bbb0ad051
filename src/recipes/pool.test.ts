import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { parseLeaseKey } from '../lease/names.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { seededRandom } from '../support/random.ts';
import { type Pool, type PoolTerm, pool } from './pool.ts';
import { rotated, shareOf } from './pool-balance.ts';

const TTL_MS = 9_000;
const KEYS = Array.from({ length: 10 }, (_, number) => `partition-${number}`);

interface World {
  readonly clock: ManualClock;
  readonly faulty: FaultyStore;
  /** The number of workers per key at this moment. Two on one key are a violation. */
  readonly working: Map<string, number>;
  readonly overlaps: string[];
  join(owner: string, work?: (term: PoolTerm) => Promise<void>): Pool;
}

function makeWorld(): World {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  const working = new Map<string, number>();
  const overlaps: string[] = [];
  const untilAborted = async ({ key, lease, signal }: PoolTerm): Promise<void> => {
    working.set(key, (working.get(key) ?? 0) + 1);
    if ((working.get(key) ?? 0) > 1) overlaps.push(key);
    if (!signal.aborted) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    }
    await lease.checkpoint('at a safe point');
    working.set(key, (working.get(key) ?? 0) - 1);
  };
  const join: World['join'] = (owner, work = untilAborted) =>
    pool(
      {
        store: faulty.store,
        owner,
        name: 'orders',
        keys: KEYS,
        ttlMs: TTL_MS,
        clock,
        timers: clock.timers,
        random: seededRandom(owner.length),
        isPermanent: (error) => error instanceof RangeError,
      },
      work,
    );
  return { clock, faulty, working, overlaps, join };
}

async function stopAll(world: World, pools: readonly Pool[]): Promise<void> {
  const stopping = Promise.all(pools.map((each) => each.stop()));
  await world.clock.advance(1_000);
  await stopping;
}

test('shares differ by at most one and add up', () => {
  const members = ['c', 'a', 'b'];
  assert.deepEqual(
    members.map((member) => shareOf(member, members, 10)),
    [3, 4, 3],
  );
  assert.equal(shareOf('stranger', members, 10), 0);
  assert.deepEqual(rotated([1, 2, 3], 2), [3, 1, 2]);
});

test('one member has all keys; with a second each has half, and no key has two workers', async () => {
  const world = makeWorld();
  const ann = world.join('ann');
  await world.clock.advance(1_000);
  assert.equal(ann.held.length, 10);
  const bob = world.join('bobby');
  await world.clock.advance(60_000);
  assert.deepEqual([ann.held.length, bob.held.length], [5, 5]);
  assert.deepEqual(world.overlaps, []);
  await stopAll(world, [ann, bob]);
});

test('V-4: few keys move at a time, and each after a checkpoint', async () => {
  const world = makeWorld();
  const ann = world.join('ann');
  await world.clock.advance(1_000);
  const bob = world.join('bobby');
  await world.clock.advance(10);
  const before = ann.held.length;
  await world.clock.advance(4_000);
  assert.ok(before - ann.held.length <= 2, `${before - ann.held.length} keys left at once`);
  await world.clock.advance(60_000);
  const moved = await world.faulty.store.leases.inspect(
    parseLeaseKey(`orders/${bob.held[0] ?? ''}`),
  );
  assert.equal(moved.record?.predecessor.exit, 'yielded');
  assert.equal(moved.record?.checkpoint?.seq, 1);
  await stopAll(world, [ann, bob]);
});

test('keys are added and removed while the pool runs', async () => {
  const world = makeWorld();
  const ann = world.join('ann');
  await world.clock.advance(1_000);
  ann.setKeys(['partition-0', 'new']);
  await world.clock.advance(20_000);
  assert.deepEqual(ann.held, ['new', 'partition-0']);
  await stopAll(world, [ann]);
});

test('a permanent error drops a key for all members; another error does not', async () => {
  const world = makeWorld();
  const failing = async ({ key, signal }: PoolTerm): Promise<void> => {
    if (key === 'partition-3') throw new RangeError('cannot be parsed');
    if (key === 'partition-4') throw new Error('try again');
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  };
  const ann = world.join('ann', failing);
  await world.clock.advance(30_000);
  assert.deepEqual(ann.dropped, ['partition-3']);
  const bob = world.join('bobby', failing);
  await world.clock.advance(120_000);
  const { record } = await world.faulty.store.leases.inspect(parseLeaseKey('orders/partition-3'));
  assert.equal(record?.end?.exit, 'retired');
  assert.equal(ann.held.length + bob.held.length >= 8, true);
  await stopAll(world, [ann, bob]);
});

test('L-7: a key whose work does not stop is never handed on, though that of another key stopped', async () => {
  const world = makeWorld();
  const finish = new Map<string, () => void>();
  const ann = world.join('ann', ({ key }) => new Promise((resolve) => finish.set(key, resolve)));
  await world.clock.advance(1_000);
  ann.setKeys(KEYS.slice(2));
  // Covers the check that stops them, and the time limit for stopping.
  await world.clock.advance(10_000);
  finish.get('partition-0')?.();
  for (const key of KEYS.slice(2)) finish.get(key)?.();
  await world.clock.advance(100);
  const stopping = ann.stop();
  await world.clock.advance(6_000);
  for (const end of finish.values()) if (end !== finish.get('partition-1')) end();
  await world.clock.advance(6_000);
  await stopping;
  const { state } = await world.faulty.store.leases.inspect(parseLeaseKey('orders/partition-1'));
  assert.notEqual(state, 'free');
  assert.notEqual(state, 'retired');
});

test('L-7: a key that is acquired while the pool stops is stopped and given up with the others', async () => {
  const world = makeWorld();
  world.faulty.fail('leases.acquire', 'hung-after');
  const ann = world.join('ann');
  await world.clock.advance(100);
  let isStopped = false;
  const stopping = ann.stop().then(() => {
    isStopped = true;
  });
  world.faulty.unhang();
  await world.clock.advance(1_000);
  assert.ok(isStopped, 'stop also aborts work of a late key');
  await stopping;
  assert.deepEqual(ann.held, []);
});
