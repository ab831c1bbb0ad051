// Lost, late and overtaken answers. Each of these once let two holders act at the same time, or
// blocked a key for all sessions (docs/bugs.md).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { OutcomeUnknown } from '../support/fault.ts';
import { systemRandom } from '../support/random.ts';
import type { HeldLease } from './held-lease.ts';
import { openSession, type Session } from './live-session.ts';
import { parseLeaseKey, parseRequestId } from './names.ts';
import type { KernelStore, LeaseStore } from './port.ts';

const KEY = parseLeaseKey('k');
const REQUEST = parseRequestId('00000000-0000-4000-8000-00000000000a');

interface World {
  readonly clock: ManualClock;
  readonly base: KernelStore;
  readonly faulty: FaultyStore;
  open(owner: string, store?: KernelStore): Promise<Session>;
}

function makeWorld(ttlMs = 10_000): World {
  const clock = new ManualClock();
  const base = openMemoryStore({ clock });
  const faulty = faultyStore(base);
  const open: World['open'] = (owner, store = faulty.store) =>
    openSession({
      store,
      owner,
      ttlMs,
      graceMs: ttlMs * 0.4,
      clock,
      timers: clock.timers,
      random: { ...systemRandom, next: () => 0.5 },
    });
  return { clock, base, faulty, open };
}

/** The store with another `acquire`. */
function acquiring(world: World, acquire: LeaseStore['acquire']): KernelStore {
  const { store } = world.faulty;
  return { ...store, leases: { ...store.leases, acquire } };
}

async function drain(world: World, deadlineMs: number): Promise<void> {
  const { record } = await world.base.leases.inspect(KEY);
  assert.ok(record !== undefined);
  const by = { actor: 'olga', reason: 'move', request: REQUEST };
  await world.base.leases.requestDrain({ key: KEY, fence: record.fence, deadlineMs, ...by });
}

async function mustAcquire(session: Session): Promise<HeldLease> {
  const got = await session.acquire(KEY);
  assert.ok(got.kind === 'acquired', got.kind);
  return got.lease;
}

/** Ann holds the key and lapses. The store comes back, and she has not rejoined yet. */
async function lapsed(world: World): Promise<HeldLease> {
  const lease = await mustAcquire(await world.open('ann'));
  await world.clock.advance(2_000);
  world.faulty.failAll('unavailable');
  await world.clock.advance(7_500);
  assert.equal(lease.signal.reason.by, 'lapsed');
  return lease;
}

test('U-1: a term whose first answer was lost is not given back while its second is on the way', async () => {
  const world = makeWorld();
  let tries = 0;
  const store = acquiring(world, async (request) => {
    tries += 1;
    const result = await world.base.leases.acquire(request);
    if (tries === 1) throw new OutcomeUnknown('connection reset');
    // Shorter than the time limit of a try, and long enough for the first heartbeat.
    await world.clock.timers.pause(2_500);
    return result;
  });
  const ann = await world.open('ann', store);
  const acquired = ann.acquire(KEY);
  await world.clock.advance(4_000);
  const got = await acquired;
  assert.ok(got.kind === 'acquired');
  assert.equal((await world.base.leases.inspect(KEY)).state, 'held');
  await world.clock.advance(70_000);
  got.lease.assertHeld(100);
  assert.equal((await (await world.open('bob')).acquire(KEY)).kind, 'refused');
});

test('V-1: a drain requested during a lapse is known to the holder when it has rejoined', async () => {
  const world = makeWorld();
  const lease = await lapsed(world);
  await drain(world, 3_000);
  world.faulty.heal();
  const rejoining = lease.rejoin();
  await world.clock.advance(1_000);
  const again = await rejoining;
  assert.ok(again.kind === 'rejoined');
  assert.equal(again.lease.drain?.reason, 'move');
  await world.clock.advance(8_000);
  const bob = await world.open('bob');
  assert.equal((await bob.acquire(KEY)).kind, 'acquired');
  assert.throws(() => again.lease.assertHeld(0), /deadline of the lease has passed/);
});

test('V-1: a drain between a grant and its answer is known when the lease is handed out', async () => {
  const world = makeWorld();
  const store = acquiring(world, async (request) => {
    const result = await world.base.leases.acquire(request);
    await world.clock.timers.pause(1_000);
    return result;
  });
  const ann = await world.open('ann', store);
  const acquired = ann.acquire(KEY);
  await world.clock.settle();
  await drain(world, 3_000);
  await ann.heartbeat();
  await world.clock.advance(1_500);
  const got = await acquired;
  assert.ok(got.kind === 'acquired');
  assert.equal(got.lease.drain?.reason, 'move');
  await world.clock.advance(12_000);
  assert.ok(got.lease.remainingMs() <= 0);
});

test('V-1: a drain between a grant and its answer is known if the answer comes during a look-up', async () => {
  const world = makeWorld();
  const store = acquiring(world, async (request) => {
    const result = await world.base.leases.acquire(request);
    await world.clock.timers.pause(1_000);
    return result;
  });
  const ann = await world.open('ann', store);
  const acquired = ann.acquire(KEY);
  await world.clock.settle();
  await drain(world, 3_000);
  world.faulty.fail('sessions.leases', 'hung-after');
  const beating = ann.heartbeat();
  await world.clock.advance(1_000);
  const got = await acquired;
  assert.ok(got.kind === 'acquired');
  world.faulty.unhang();
  await beating;
  assert.equal(got.lease.drain?.reason, 'move');
});

test('G-3: rejoining twice at once is rejoining once', async () => {
  const world = makeWorld();
  const lease = await lapsed(world);
  world.faulty.heal();
  const both = Promise.all([lease.rejoin(), lease.rejoin()]);
  await world.clock.advance(1_000);
  const [one, two] = await both;
  assert.ok(one.kind === 'rejoined' && two.kind === 'rejoined');
  assert.equal(one.lease, two.lease);
});

test('G-3: a release while rejoining has the last word', async () => {
  const world = makeWorld();
  const lease = await lapsed(world);
  world.faulty.heal();
  world.faulty.fail('leases.verify', 'hung-after');
  const rejoining = lease.rejoin();
  await world.clock.advance(1_000);
  const releasing = lease.release('finished');
  world.faulty.unhang();
  await world.clock.advance(5_000);
  assert.equal((await rejoining).kind, 'not-held');
  await releasing;
  assert.equal((await world.base.leases.inspect(KEY)).state, 'free');
});

test('A-5: a grant that arrives during a lapse is given back', async () => {
  const world = makeWorld();
  let jump = true;
  const store = acquiring(world, async (request) => {
    const result = await world.base.leases.acquire(request);
    if (jump) world.clock.suspend(6_500);
    jump = false;
    return result;
  });
  const ann = await world.open('ann', store);
  assert.equal((await ann.acquire(KEY)).kind, 'granted-too-late');
  await world.clock.advance(10_000);
  assert.equal((await world.base.leases.inspect(KEY)).state, 'free');
  assert.ok(ann.remainingMs() > 0, 'the session goes on');
});

test('R-5: calls about leases that hang do not hold up heartbeats', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const good = await mustAcquire(ann);
  for (const verb of ['acquire', 'inspect', 'release', 'withdraw']) {
    world.faulty.fail(`leases.${verb}`, 'hung-before', 1_000);
  }
  const pending = [1, 2, 3, 4].map((number) => ann.acquire(`other ${number}`));
  await world.clock.advance(90_000);
  good.assertHeld(1_000);
  await Promise.all(pending);
});

test('U-1: a lost grant is given back also when beats are rare and the first look fails', async () => {
  const world = makeWorld(600_000);
  const ann = await world.open('ann');
  world.faulty.fail('leases.acquire', 'lost-answer', 1_000);
  world.faulty.fail('leases.inspect', 'unavailable', 1);
  world.faulty.fail('leases.release', 'unavailable', 1);
  const acquired = ann.acquire(KEY);
  await world.clock.advance(10_000);
  assert.equal((await acquired).kind, 'unknown');
  world.faulty.heal();
  await world.clock.advance(1_200_000);
  assert.equal((await world.base.leases.inspect(KEY)).state, 'free');
});

test('U-1, E-6: a release that was refused as expired is done when its session was given more time', async () => {
  const world = makeWorld(3_000);
  const ann = await world.open('ann');
  const lease = await mustAcquire(ann);
  world.faulty.failAll('unavailable');
  const releasing = lease.release('finished');
  await world.clock.advance(3_000);
  // The store is back and has not noticed its outage. The release arrives before a heartbeat.
  world.faulty.failBy((verb) => (verb === 'leases.release' ? undefined : 'unavailable'));
  await world.clock.advance(100);
  const result = await releasing;
  assert.ok(result.kind === 'refused' && result.why === 'expired');
  await world.base.sessions.recover({ cause: 'the store was away' });
  world.faulty.heal();
  await world.clock.advance(5_000);
  assert.ok(ann.remainingMs() > 0, 'the session goes on');
  assert.equal((await world.base.leases.inspect(KEY)).state, 'free');
});

test('G-3: rejoin returns lost if the session is lost, not lapsed', async () => {
  const world = makeWorld();
  const lease = await lapsed(world);
  const before = lease.rejoin();
  await world.clock.advance(10_000);
  await world.base.sessions.sweep({ limit: 10 });
  world.faulty.heal();
  await world.clock.advance(5_000);
  for (const outcome of [await before, await lease.rejoin()]) {
    assert.ok(outcome.kind === 'not-held');
    assert.equal(outcome.reason.by, 'lost', 'there is nothing to try again');
  }
});

/** Ann holds the key, and Bob's wait for it times out while the store is unavailable. */
async function waitedUntilTimeout(world: World): Promise<HeldLease> {
  const held = await mustAcquire(await world.open('ann', world.base));
  const bob = await world.open('bob');
  const waiting = bob.acquire(KEY, { wait: true, timeoutMs: 2_000 });
  await world.clock.advance(1_000);
  assert.equal((await world.base.leases.inspect(KEY)).waiting, 1);
  world.faulty.failAll('unavailable');
  await world.clock.advance(2_000);
  assert.equal((await waiting).kind, 'timed-out');
  return held;
}

test('A-7, U-1: a place that could not be given up during an outage is given up after it', async () => {
  const world = makeWorld();
  const held = await waitedUntilTimeout(world);
  world.faulty.heal();
  await world.clock.advance(1_000);
  await held.release('finished');
  const carol = await world.open('carol');
  assert.equal((await carol.acquire(KEY)).kind, 'acquired');
});

test('A-7, U-1: a place that a late attempt takes after it was given up is given up again', async () => {
  const world = makeWorld();
  const held = await mustAcquire(await world.open('ann', world.base));
  const bob = await world.open('bob');
  world.faulty.fail('leases.acquire', 'hung-before', 1_000);
  const waiting = bob.acquire(KEY, { wait: true, timeoutMs: 2_000 });
  await world.clock.advance(9_000);
  assert.equal((await waiting).kind, 'unknown');
  world.faulty.heal();
  world.faulty.unhang();
  await world.clock.advance(4_000);
  await held.release('finished');
  const carol = await world.open('carol');
  assert.equal((await carol.acquire(KEY)).kind, 'acquired');
});

test('A-7: a waiter that is refused for good leaves no place behind', async () => {
  const world = makeWorld();
  const held = await mustAcquire(await world.open('ann'));
  const bob = await world.open('bob');
  const waiting = bob.acquire(KEY, { wait: true });
  await world.clock.advance(1_000);
  await held.release('retired');
  await world.clock.advance(1_000);
  assert.equal((await waiting).kind, 'refused');
  const carol = await world.open('carol');
  assert.equal((await carol.acquire(KEY, { reopen: true })).kind, 'acquired');
});

/**
 * The store confirms releases and forgets them, as after a failover to a standby that did not
 * receive them.
 */
function forgettingReleases(world: World): { readonly store: KernelStore; stop(): void } {
  let forgets = true;
  const release: LeaseStore['release'] = async (request) =>
    forgets ? { kind: 'released', replayed: false } : world.base.leases.release(request);
  return {
    store: { ...world.base, leases: { ...world.base.leases, release } },
    stop: () => {
      forgets = false;
    },
  };
}

const FAILOVER = { actor: 'holdfast', reason: 'another server' };

test('E-4, T-4: a term whose release a failover took back is given back by its session', async () => {
  const world = makeWorld();
  const { store, stop } = forgettingReleases(world);
  const ann = await world.open('ann', store);
  const [lease, kept] = [await mustAcquire(ann), await ann.acquire('other')];
  assert.ok(kept.kind === 'acquired');
  await lease.release('finished');
  stop();
  await world.base.raiseEpoch(FAILOVER);
  await world.clock.advance(10_000);
  const bob = await world.open('bob');
  const got = await bob.acquire(KEY);
  assert.ok(got.kind === 'acquired', got.kind);
  assert.equal(got.lease.predecessor.exit, 'abandoned');
  kept.lease.assertHeld(0);
});

test('E-4, T-4: a session that waits behind its own forgotten term gets the key', async () => {
  const world = makeWorld();
  const { store, stop } = forgettingReleases(world);
  const ann = await world.open('ann', store);
  await (await mustAcquire(ann)).release('yielded');
  stop();
  const waiting = ann.acquire(KEY, { wait: true });
  await world.base.raiseEpoch(FAILOVER);
  await world.clock.advance(30_000);
  const got = await Promise.race([waiting, { kind: 'still waiting' } as const]);
  assert.ok(got.kind === 'acquired', got.kind);
  got.lease.assertHeld(0);
});

test('T-4: a check of carried leases takes neither a lapsed term nor a grant under way from its caller', async () => {
  const world = makeWorld();
  const lease = await lapsed(world);
  await world.base.raiseEpoch(FAILOVER);
  world.faulty.heal();
  await world.clock.advance(5_000);
  const again = await lease.rejoin();
  assert.equal(again.kind, 'rejoined');

  const store = acquiring(world, async (request) => {
    const result = await world.base.leases.acquire(request);
    await world.clock.timers.pause(2_500);
    return result;
  });
  const bob = await world.open('bob', store);
  const acquired = bob.acquire('other');
  await world.clock.settle();
  await world.base.raiseEpoch(FAILOVER);
  await world.clock.advance(10_000);
  const got = await acquired;
  assert.ok(got.kind === 'acquired');
  got.lease.assertHeld(0);
});
