// Sessions and leases in one process, on a store that can fail, with a clock that the test moves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { seededRandom } from '../support/random.ts';
import type { HeldLease } from './held-lease.ts';
import { openSession, type Session } from './live-session.ts';
import { parseLeaseKey, parseRequestId } from './names.ts';
import { LeaseNotHeld } from './not-held.ts';
import type { LeaseReport } from './observer.ts';

const TTL_MS = 9_000;
const GRACE_MS = 3_000;
const KEY = parseLeaseKey('invoice/7');

interface World {
  readonly clock: ManualClock;
  readonly faulty: FaultyStore;
  readonly reports: LeaseReport[];
  open(owner: string): Promise<Session>;
}

function makeWorld(): World {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  const reports: LeaseReport[] = [];
  const open = (owner: string): Promise<Session> =>
    openSession({
      store: faulty.store,
      owner,
      ttlMs: TTL_MS,
      graceMs: GRACE_MS,
      guardMs: 0,
      driftPpm: 0,
      clock,
      timers: clock.timers,
      random: seededRandom(7),
      observer: { report: (report) => reports.push(report) },
    });
  return { clock, faulty, reports, open };
}

async function mustAcquire(session: Session): Promise<HeldLease> {
  const got = await session.acquire(KEY);
  assert.equal(got.kind, 'acquired');
  assert.ok(got.kind === 'acquired');
  return got.lease;
}

test('R-4: heartbeats keep a lease held far beyond its ttl', async () => {
  const world = makeWorld();
  const lease = await mustAcquire(await world.open('ann'));
  await world.clock.advance(20 * TTL_MS);
  lease.assertHeld(1_000);
  const beats = world.faulty.calls.get('sessions.heartbeat') ?? 0;
  assert.ok(beats >= 55 && beats <= 70, `about three heartbeats a ttl, got ${beats} in 20`);
});

test('R-3: an unknown heartbeat neither extends nor ends anything', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  world.clock.suspend(1_000);
  const before = session.remainingMs();
  world.faulty.fail('sessions.heartbeat', 'lost-answer');
  const result = await session.heartbeat();
  assert.equal(result.kind, 'unknown');
  assert.equal(session.remainingMs(), before);
  assert.equal(lease.signal.aborted, false);
});

test('R-5: a heartbeat that hangs does not hold up the next one', async () => {
  const world = makeWorld();
  const lease = await mustAcquire(await world.open('ann'));
  world.faulty.fail('sessions.heartbeat', 'hung-before');
  await world.clock.advance(3 * TTL_MS);
  lease.assertHeld(1_000);
  assert.equal(lease.signal.aborted, false);
});

test('C-5: assertHeld refuses at the deadline although no timer has fired', async () => {
  const world = makeWorld();
  const lease = await mustAcquire(await world.open('ann'));
  world.clock.suspend(TTL_MS);
  assert.throws(
    () => lease.assertHeld(0),
    (fault: unknown) => fault instanceof LeaseNotHeld && fault.by === 'lapsed',
  );
  assert.equal(lease.signal.aborted, true, 'the first check notices the lapse');
});

test('C-5: assertHeld refuses an effect that is longer than the time left, and the lease goes on', async () => {
  const world = makeWorld();
  const lease = await mustAcquire(await world.open('ann'));
  assert.throws(
    () => lease.assertHeld(TTL_MS),
    (fault: unknown) => fault instanceof LeaseNotHeld && fault.by === 'too-little-left',
  );
  assert.equal(lease.signal.aborted, false);
});

test('C-3: while the store is out of reach, authority ends before the store would let another in', async () => {
  const world = makeWorld();
  const lease = await mustAcquire(await world.open('ann'));
  world.faulty.failAll('unavailable');
  await world.clock.advance(TTL_MS - GRACE_MS - 1);
  assert.equal(lease.signal.aborted, false);
  await world.clock.advance(1);
  assert.equal(lease.signal.aborted, true);
  assert.equal(lease.remainingMs(), 0);
});

test('C-6: a heartbeat answered after the deadline does not restore the handle', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  world.faulty.failAll('unavailable');
  await world.clock.advance(TTL_MS - GRACE_MS);
  world.faulty.heal();
  await session.heartbeat();
  assert.ok(session.remainingMs() > 0, 'the session has rejoined');
  assert.equal(lease.signal.aborted, true, 'the handle stays finished');
  assert.throws(() => lease.assertHeld(0), LeaseNotHeld);
});

test('C-6: a late answer counts from when it was sent', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  world.faulty.failAll('unavailable');
  await world.clock.advance(1_000);
  world.faulty.fail('sessions.heartbeat', 'hung-after');
  const beating = session.heartbeat();
  await world.clock.advance(4_000);
  assert.equal(Math.round(session.remainingMs()), TTL_MS - GRACE_MS - 5_000);
  world.faulty.unhang();
  await beating;
  await world.clock.settle();
  assert.equal(Math.round(session.remainingMs()), TTL_MS - GRACE_MS - 4_000);
});

test('G-3: after a lapse the same term rejoins, with a new handle and the same fence', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  world.faulty.failAll('unavailable');
  await world.clock.advance(TTL_MS - GRACE_MS);
  const rejoining = lease.rejoin();
  world.faulty.heal();
  await world.clock.advance(1_000);
  const outcome = await rejoining;
  assert.ok(outcome.kind === 'rejoined');
  assert.equal(outcome.lease.fence, lease.fence);
  outcome.lease.assertHeld(100);
  assert.ok(world.reports.some((report) => report.kind === 'lapsed'));
  assert.ok(world.reports.some((report) => report.kind === 'rejoined'));
});

test('G-3, R-1: after an outage beyond the expiry the same term continues, unless it was taken over', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  world.faulty.failAll('unavailable');
  await world.clock.advance(2 * TTL_MS);
  const rejoining = lease.rejoin();
  world.faulty.heal();
  await world.clock.advance(1_000);
  const again = await rejoining;
  assert.ok(again.kind === 'rejoined');
  assert.equal(again.lease.fence, lease.fence);

  world.faulty.failAll('unavailable');
  await world.clock.advance(2 * TTL_MS);
  world.faulty.heal();
  await world.faulty.store.sessions.sweep({ limit: 10 });
  await world.clock.advance(1_000);
  assert.equal((await again.lease.rejoin()).kind, 'not-held');
  assert.equal(session.signal.aborted, true);
});

test('S-2: the loss of a session is reported once and reaches every lease', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  const by = { kind: 'operator', actor: 'olga', reason: 'host is being replaced' } as const;
  await world.faulty.store.sessions.end({ id: session.id, by });
  await session.heartbeat();
  assert.equal(session.signal.aborted, true);
  assert.equal(lease.signal.reason.by, 'lost');
  await world.clock.settle();
  assert.equal(world.reports.filter((report) => report.kind === 'lost').length, 1);
});

test('V-1: a holder learns of a drain with its next heartbeat and keeps authority to the deadline only', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  const reasons: string[] = [];
  lease.onDrain((drain) => reasons.push(drain.reason));
  const drained = await world.faulty.store.leases.requestDrain({
    key: KEY,
    fence: lease.fence,
    request: parseRequestId('00000000-0000-4000-8000-000000000001'),
    actor: 'olga',
    reason: 'rebalance',
    deadlineMs: 20_000,
  });
  assert.ok(drained.kind === 'draining');
  await session.heartbeat();
  await world.clock.settle();
  assert.deepEqual(reasons, ['rebalance']);
  await world.clock.advance(19_999);
  assert.equal(lease.signal.aborted, false);
  await world.clock.advance(1);
  assert.equal(lease.remainingMs(), 0);
  assert.equal(lease.signal.reason.by, 'deadline');
  assert.equal(session.signal.aborted, false, 'the session goes on');
});

async function revoke(world: ReturnType<typeof makeWorld>, lease: HeldLease): Promise<void> {
  const request = parseRequestId('00000000-0000-4000-8000-000000000002');
  const by = { request, actor: 'olga', reason: 'stuck' };
  await world.faulty.store.leases.revoke({ key: KEY, fence: lease.fence, ...by });
}

test('V-3: a revoked lease is gone for its holder after the next heartbeat, the session goes on', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  await revoke(world, lease);
  await session.heartbeat();
  assert.equal(lease.signal.reason.by, 'lost');
  assert.ok(session.remainingMs() > 0);
});

test('P2: a revoked lease stays lost when its session acquires the key again before it learns of it', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  await revoke(world, lease);
  const again = await mustAcquire(session);
  assert.ok(again.fence > lease.fence);
  assert.throws(() => lease.assertHeld(0), LeaseNotHeld);
  await session.heartbeat();
  assert.equal(lease.remainingMs(), 0);
  assert.ok(again.remainingMs() > 0);
});

test('V-1: authority is not extended while the cause of a notice is unknown', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  await world.faulty.store.leases.requestDrain({
    key: KEY,
    fence: lease.fence,
    request: parseRequestId('00000000-0000-4000-8000-000000000003'),
    actor: 'olga',
    reason: 'rebalance',
    deadlineMs: 0,
  });
  const before = session.remainingMs();
  world.faulty.fail('sessions.leases', 'unavailable');
  await session.heartbeat();
  assert.equal(session.remainingMs(), before);
});

test('L-5: authority ends when release is called, not when it is confirmed', async () => {
  const world = makeWorld();
  const lease = await mustAcquire(await world.open('ann'));
  world.faulty.fail('leases.release', 'hung-before');
  const releasing = lease.release('finished');
  assert.throws(
    () => lease.assertHeld(0),
    (fault: unknown) => fault instanceof LeaseNotHeld && fault.by === 'released',
  );
  await world.clock.advance(10_000);
  assert.equal((await releasing).kind, 'released');
});

test('L-8: a heartbeat under way when the session closes changes nothing afterwards', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  const lease = await mustAcquire(session);
  world.faulty.fail('sessions.heartbeat', 'hung-after');
  const beating = session.heartbeat();
  await world.clock.settle();
  assert.equal((await session.close('yielded')).kind, 'ended');
  world.faulty.unhang();
  await world.clock.advance(TTL_MS);
  await beating;
  assert.equal(lease.signal.reason.by, 'released');
  assert.equal(world.reports.filter((report) => report.kind === 'lost').length, 0);
});

test('L-8: a heartbeat that looks up a notice when the session closes does not revive it', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  await revoke(world, await mustAcquire(session));
  world.faulty.fail('sessions.leases', 'hung-after');
  const beating = session.heartbeat();
  await world.clock.settle();
  await session.close('yielded');
  world.faulty.unhang();
  await beating;
  assert.equal(session.remainingMs(), 0);
});

test('O-4: an observer that throws affects nothing', async () => {
  const clock = new ManualClock();
  const session = await openSession({
    store: openMemoryStore({ clock }),
    owner: 'ann',
    clock,
    timers: clock.timers,
    observer: {
      report() {
        throw new Error('metrics are down');
      },
    },
  });
  await clock.advance(60_000);
  assert.ok(session.remainingMs() > 0);
  await session.close();
});

test('L-4: an owner cannot close its session with an exit that only the store may record', async () => {
  const world = makeWorld();
  const session = await world.open('ann');
  for (const exit of ['revoked', 'expired', 'none', 'bogus', {}]) {
    assert.throws(() => session.close(exit as 'finished'), /exit must be one of finished/);
  }
  assert.ok(session.remainingMs() > 0, 'it goes on');
  assert.equal((await session.close('yielded')).kind, 'ended');
});
