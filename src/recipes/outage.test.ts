// Every recipe after an outage of the store that is longer than the ttl. Each works again within
// the ttl and two seconds of the store's return, without a restart.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FaultyStore,
  faultyStore,
  type StoreFault,
} from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openSession } from '../lease/live-session.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { seededRandom } from '../support/random.ts';
import { elect } from './elect.ts';
import { pool } from './pool.ts';
import { registry } from './registry.ts';
import type { Term } from './run-term.ts';
import { withLease } from './with-lease.ts';

const TTL_MS = 4_000;
const OUTAGE_MS = 8_000;
const BOUND_MS = TTL_MS + 2_000;
const FLEET = 12;

interface World {
  readonly clock: ManualClock;
  readonly faulty: FaultyStore;
  session(owner: string): {
    readonly store: FaultyStore['store'];
    readonly owner: string;
    readonly ttlMs: number;
    readonly clock: ManualClock;
    readonly timers: ManualClock['timers'];
    readonly random: ReturnType<typeof seededRandom>;
  };
}

function makeWorld(): World {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  let seed = 0;
  return {
    clock,
    faulty,
    session: (owner) => {
      seed += 1;
      const { store } = faulty;
      return {
        store,
        owner,
        ttlMs: TTL_MS,
        clock,
        timers: clock.timers,
        random: seededRandom(seed),
      };
    },
  };
}

async function untilAborted({ signal }: Term): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

async function outage(world: World, fault: StoreFault): Promise<void> {
  world.faulty.failAll(fault);
  await world.clock.advance(OUTAGE_MS);
  world.faulty.heal();
  world.faulty.unhang();
}

/**
 * `unavailable`: the server is down. `hung-before`: it is frozen, and runs all requests when it
 * continues.
 */
const FAULTS: readonly StoreFault[] = ['unavailable', 'hung-before'];

for (const fault of FAULTS) {
  test(`E-4, E-8: ${FLEET} leaders of separate elections lead again after an outage (${fault})`, async () => {
    const world = makeWorld();
    const elections = Array.from({ length: FLEET }, (_, number) =>
      elect({ ...world.session(`host-${number}`), name: `lead-${number}` }, untilAborted),
    );
    await world.clock.advance(2_000);
    await outage(world, fault);
    await world.clock.advance(BOUND_MS);
    assert.deepEqual(new Set(elections.map(({ state }) => state)), new Set(['leading']));
    for (const election of elections) void election.stop();
    await world.clock.advance(60_000);
  });

  test(`E-4: one of several candidates leads again after an outage (${fault})`, async () => {
    const world = makeWorld();
    const elections = Array.from({ length: FLEET }, (_, number) =>
      elect({ ...world.session(`host-${number}`), name: 'scheduler' }, untilAborted),
    );
    await world.clock.advance(2_000);
    await outage(world, fault);
    await world.clock.advance(BOUND_MS);
    assert.equal(elections.filter(({ state }) => state === 'leading').length, 1);
    for (const election of elections) void election.stop();
    await world.clock.advance(60_000);
  });

  test(`E-4: a pool works on all of its keys again after an outage (${fault})`, async () => {
    const world = makeWorld();
    const keys = Array.from({ length: 10 }, (_, number) => `partition-${number}`);
    const members = Array.from({ length: 3 }, (_, number) =>
      pool({ ...world.session(`host-${number}`), name: 'orders', keys }, untilAborted),
    );
    const held = (): string[] => members.flatMap((member) => member.held).sort();
    await world.clock.advance(30_000);
    assert.deepEqual(held(), keys);
    await outage(world, fault);
    await world.clock.advance(BOUND_MS);
    assert.deepEqual(held(), keys);
    for (const member of members) void member.stop();
    await world.clock.advance(60_000);
  });

  test(`A-7, E-4: withLease gets the key again after waits that an outage cut short (${fault})`, async () => {
    const world = makeWorld();
    const stop = new AbortController();
    const doneAt: number[] = [];
    const loop = async (owner: string): Promise<void> => {
      const session = await openSession(world.session(owner));
      const { clock } = world;
      const { timers } = clock;
      const options = { session, key: 'report', wait: true, timeoutMs: 2_000, clock, timers };
      while (!stop.signal.aborted) {
        const outcome = await withLease(options, () => timers.pause(300));
        if (outcome.kind === 'done') doneAt.push(clock.monotonicMs());
        await timers.pause(50);
      }
      await session.close();
    };
    const loops = ['ann', 'bob', 'carol'].map(loop);
    await world.clock.advance(3_000);
    assert.ok(doneAt.length > 0);
    await outage(world, fault);
    const backAt = world.clock.monotonicMs();
    await world.clock.advance(BOUND_MS);
    const again = doneAt.filter((at) => at > backAt);
    assert.ok(again.length > 1, `${again.length} times within ${BOUND_MS} ms`);
    stop.abort();
    await world.clock.advance(60_000);
    await Promise.all(loops);
  });

  test(`E-4: all members of a registry are live again after an outage (${fault})`, async () => {
    const world = makeWorld();
    const { store } = world.faulty;
    const { timers } = world.clock;
    const members = registry({ store, service: 'billing', timers, random: seededRandom(99) });
    for (let number = 0; number < FLEET; number += 1) {
      const { store: _, ...session } = world.session(`host-${number}`);
      await members.register(session);
    }
    await outage(world, fault);
    await world.clock.advance(BOUND_MS);
    const states = (await members.list()).map(({ state }) => state);
    assert.deepEqual(states, Array(FLEET).fill('live'));
  });
}
