// Within one process, an ancestor's lapse ends its descendants' authority before a successor can
// enter (H-2).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { seededRandom } from '../support/random.ts';
import type { HeldLease } from './held-lease.ts';
import { openSession, type Session } from './live-session.ts';
import { LeaseNotHeld, type WithdrawnBy } from './not-held.ts';
import type { LeaseReport } from './observer.ts';

const TTL_MS = 9_000;
const GRACE_MS = 3_000;

interface Family {
  readonly clock: ManualClock;
  readonly faulty: FaultyStore;
  readonly reports: LeaseReport[];
  readonly parent: Session;
  readonly child: Session;
  /** One lease of the child, and one of the child's child. */
  readonly leases: readonly HeldLease[];
  open(owner: string): Promise<Session>;
}

async function raise(): Promise<Family> {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  const reports: LeaseReport[] = [];
  const options = {
    ttlMs: TTL_MS,
    graceMs: GRACE_MS,
    guardMs: 0,
    driftPpm: 0,
    clock,
    timers: clock.timers,
    random: seededRandom(7),
    observer: { report: (report: LeaseReport) => reports.push(report) },
  };
  const open = (owner: string): Promise<Session> =>
    openSession({ ...options, owner, store: faulty.store });
  const parent = await open('parent');
  const child = await parent.openChild({ ...options, owner: 'child' });
  const grandchild = await child.openChild({ ...options, owner: 'grandchild' });
  const leases = [await held(child, 'a'), await held(grandchild, 'b')];
  return { clock, faulty, reports, parent, child, leases, open };
}

async function held(session: Session, key: string): Promise<HeldLease> {
  const got = await session.acquire(key);
  assert.ok(got.kind === 'acquired', got.kind);
  return got.lease;
}

function assertStopped(leases: readonly HeldLease[], by: WithdrawnBy): void {
  for (const lease of leases) {
    const isReason = (fault: unknown): boolean => fault instanceof LeaseNotHeld && fault.by === by;
    assert.throws(() => lease.assertHeld(0), isReason, `${lease.key} is still held`);
    assert.equal(lease.signal.aborted, true);
    assert.equal(lease.remainingMs(), 0);
  }
}

test('H-2: closing a parent withdraws everything below it before its end is sent', async () => {
  const { parent, child, leases, faulty, open } = await raise();
  const sent: (number | undefined)[] = [];
  for (const { signal } of leases) {
    signal.addEventListener('abort', () => sent.push(faulty.calls.get('sessions.end')));
  }
  const closing = parent.close('yielded');
  assertStopped(leases, 'lost');
  assert.match(String(leases[0]?.signal.reason), /parent session is over/);
  assert.deepEqual(sent, [undefined, undefined]);
  assert.equal(child.signal.aborted, true);
  assert.equal(child.remainingMs(), 0);
  assert.deepEqual(await closing, { kind: 'ended', replayed: false });
  await held(await open('successor'), 'b');
});

test('H-2: sessions below a lost parent are lost in the same turn', async () => {
  const { parent, child, leases, faulty, reports } = await raise();
  const by = { kind: 'operator', actor: 'olga', reason: 'drill' } as const;
  await faulty.store.sessions.end({ id: parent.id, by });
  parent.signal.addEventListener('abort', () => assertStopped(leases, 'lost'));
  await parent.heartbeat();
  assertStopped(leases, 'lost');
  assert.equal(child.signal.aborted, true);
  await new Promise((resolve) => setImmediate(resolve));
  const lost = reports.filter(({ kind }) => kind === 'lost');
  assert.equal(lost.length, 3, 'each session reports once');
});

test('H-2: a child that was renewed meanwhile stops when its parent lapses', async () => {
  const { parent, child, leases, clock, faulty, reports } = await raise();
  await parent.orphan();
  await clock.advance(3_000);
  // Simulates a lost answer to the parent's heartbeat.
  await faulty.store.sessions.heartbeat({ id: parent.id, owner: parent.owner });
  await child.heartbeat();
  await clock.advance(2_999);
  for (const lease of leases) lease.assertHeld(1);
  await clock.advance(1);
  assert.ok(
    leases.every(({ signal }) => signal.aborted),
    'without a call',
  );
  assertStopped(leases, 'lapsed');
  assert.equal(child.signal.aborted, false, 'a lapse is not an end');
  assert.equal(reports.filter(({ kind }) => kind === 'lapsed').length, 3);
});

test('G-3: sessions below a parent that rejoins can be rejoined', async () => {
  const { child, leases, clock, faulty, reports } = await raise();
  faulty.failAll('unavailable');
  await clock.advance(TTL_MS - GRACE_MS);
  assertStopped(leases, 'lapsed');
  const rejoining = Promise.all(leases.map((lease) => lease.rejoin()));
  faulty.heal();
  await clock.advance(1_000);
  assert.ok(child.remainingMs() > 0);
  const rejoined = await rejoining;
  assert.deepEqual(
    rejoined.map(({ kind }) => kind),
    ['rejoined', 'rejoined'],
  );
  const reported = reports.filter(({ kind }) => kind === 'lapsed' || kind === 'rejoined');
  assert.deepEqual(reported.map(({ kind }) => kind).sort(), [
    ...Array(3).fill('lapsed'),
    ...Array(3).fill('rejoined'),
  ]);
});

test('H-1: closing a child affects nothing above it, and the child gets no later ends', async () => {
  const { parent, child, leases, reports } = await raise();
  await child.close('yielded');
  assertStopped(leases.slice(0, 1), 'released');
  assertStopped(leases.slice(1), 'lost');
  const lease = await held(parent, 'c');
  lease.assertHeld(1_000);
  await parent.close();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(reports.filter(({ kind }) => kind === 'lost').length, 1, 'the grandchild, once');
});

test("H-1: closing a child while its parent closes returns its parent's end", async () => {
  const { parent, child, faulty, clock } = await raise();
  faulty.failAll('unavailable');
  const closing = Promise.all([parent.close(), child.close()]);
  await clock.advance(20_000);
  const results = await closing;
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ['unavailable', 'unavailable'],
  );
});

test('H-2: a child that was being opened while its parent closed has no authority', async () => {
  const { parent, faulty, clock } = await raise();
  faulty.fail('sessions.open', 'hung-after');
  const options = { clock, timers: clock.timers, random: seededRandom(8) };
  const opening = parent.openChild({ ...options, owner: 'late', ttlMs: TTL_MS });
  await clock.settle();
  const closing = parent.close();
  faulty.unhang();
  const late = await opening;
  assert.equal(late.remainingMs(), 0);
  assert.equal(late.signal.aborted, true);
  await closing;
});
