// Work under several leases, and work that continues after its authority has ended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openSession, type Session } from '../lease/live-session.ts';
import { parseLeaseKey } from '../lease/names.ts';
import { drainLease, revokeLease } from '../lease/operate.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { once } from './once.ts';
import type { Overrun } from './run-term.ts';
import { withPermits } from './semaphore.ts';
import { withLease } from './with-lease.ts';

const TTL_MS = 10_000;

class World {
  readonly clock: ManualClock = new ManualClock();
  readonly faulty: FaultyStore = faultyStore(openMemoryStore({ clock: this.clock }));

  get time(): { readonly clock: ManualClock; readonly timers: ManualClock['timers'] } {
    return { clock: this.clock, timers: this.clock.timers };
  }

  open(owner: string): Promise<Session> {
    return openSession({ store: this.faulty.store, owner, ttlMs: TTL_MS, ...this.time });
  }

  async stateOf(key: string): Promise<string> {
    return (await this.faulty.store.leases.inspect(parseLeaseKey(key))).state;
  }
}

const BY = { actor: 'olga', reason: 'deploy' };

test('work learns at once of a permit that was drained while it waited for the others', async () => {
  const world = new World();
  const { clock } = world;
  const { store } = world.faulty;
  const ann = await world.open('ann');
  const bob = await world.open('bob');
  const last = await bob.acquire('slots/permit-3');
  assert.ok(last.kind === 'acquired');
  const options = { session: ann, name: 'slots', permits: 3, weight: 3, ...world.time };
  const working = withPermits(options, async ({ signal }) => signal.aborted);
  await clock.advance(100);
  const held = ann.leases.find(({ key }) => key === 'slots/permit-2');
  assert.ok(held);
  const { key, fence } = held;
  await drainLease({ store, key, fence, deadlineMs: 60_000, ...BY });
  await clock.advance(TTL_MS);
  assert.ok(held.drain, 'its holder knows of the drain');
  await last.lease.release('finished');
  await clock.advance(TTL_MS);
  const outcome = await working;
  assert.ok(outcome.kind === 'done');
  assert.equal(outcome.value, true);
});

test('work that ignores the loss of one permit is an overrun, and keeps the others until it stops', async () => {
  const world = new World();
  const { clock } = world;
  const { store } = world.faulty;
  const session = await world.open('ann');
  const overruns: Overrun[] = [];
  const work = Promise.withResolvers<void>();
  const onOverrun = (overrun: Overrun): unknown => overruns.push(overrun);
  const running = withPermits(
    { session, name: 'slots', permits: 2, weight: 2, settleMs: 1_000, onOverrun, ...world.time },
    () => work.promise,
  );
  await clock.advance(100);
  const revoked = session.leases.find(({ key }) => key === 'slots/permit-2');
  assert.ok(revoked);
  await revokeLease({ store, key: revoked.key, fence: revoked.fence, ...BY });
  await clock.advance(TTL_MS);
  const outcome = await running;
  assert.ok(outcome.kind === 'lost' && outcome.running !== undefined);
  assert.deepEqual(
    overruns.map(({ key, settled }) => [key, settled]),
    [['slots/permit-2', false]],
  );
  assert.equal(await world.stateOf('slots/permit-1'), 'held');
  work.resolve();
  await outcome.running;
  await clock.settle();
  assert.equal(await world.stateOf('slots/permit-1'), 'free');
  assert.deepEqual(
    overruns.map(({ settled }) => settled),
    [false, true],
  );
});

test('a lapsed lease is free once its work has stopped, and not before', async () => {
  const world = new World();
  const { clock, faulty } = world;
  const session = await world.open('ann');
  const work = Promise.withResolvers<void>();
  const options = { session, key: 'reports', settleMs: 1_000, ...world.time };
  const running = withLease(options, () => work.promise);
  await clock.settle();
  faulty.failAll('unavailable');
  await clock.advance(TTL_MS);
  faulty.heal();
  await clock.advance(TTL_MS);
  const outcome = await running;
  assert.ok(outcome.kind === 'lost' && outcome.running !== undefined);
  assert.equal(await world.stateOf('reports'), 'held');
  work.resolve();
  await outcome.running;
  await clock.advance(1_000);
  assert.equal(await world.stateOf('reports'), 'free');
  await session.close();
});

test('a result that is not JSON is refused by name', async () => {
  const session = await new World().open('ann');
  const loop: { self?: object } = {};
  loop.self = loop;
  for (const value of [1n, loop]) {
    const failing = once({ session, key: 'number' }, async () => value);
    await assert.rejects(failing, { name: 'InvalidInput', message: /not stored.*JSON/ });
  }
});
