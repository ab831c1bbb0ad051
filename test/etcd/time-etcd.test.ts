// Decides when time has passed: by store time, which clients report, and by a witness (ADR 0016).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ManualClock } from '../../contract/index.ts';
import {
  acquiring,
  KEY,
  mustAcquire,
  mustBeat,
  openedSession,
  sessionIdOf,
  TTL_MS,
} from '../../contract/lease/opened-session.ts';
import type { KernelStore } from '../../src/index.ts';
import { openEtcdStore } from '../../src/store/etcd/open.ts';
import type { Clock } from '../../src/support/clock.ts';
import { RawEtcd } from '../contract/raw-etcd.ts';
import { etcdForTests } from '../services/etcd.ts';

const HOUR_MS = 3_600_000;

let etcd: Awaited<ReturnType<typeof etcdForTests>>;
let raw: RawEtcd;
let count = 0;

before(async () => {
  etcd = await etcdForTests();
  raw = new RawEtcd(etcd.endpoints);
});

after(() => etcd.release());

function freshPrefix(): string {
  count += 1;
  return `${etcd.prefix}${count}/`;
}

/** Native leases that outlast any test, so that etcd expires a session only if a test does it. */
function open(prefix: string, clock: Clock): Promise<KernelStore> {
  const { endpoints } = etcd;
  return openEtcdStore({ endpoints, prefix, clock, leaseSecondsMin: 3_600 });
}

async function giveUp(prefix: string, name: string): Promise<void> {
  const [pulse] = await raw.list(`${prefix}w/pulse/${sessionIdOf(name)}`);
  assert.ok(pulse !== undefined);
  await raw.revokeLease(pulse.lease);
}

test('S-3, E-2: a session that is overdue by store time alone does not end before etcd expires its lease', async () => {
  const prefix = freshPrefix();
  const clock = new ManualClock();
  const first = await open(prefix, clock);
  await mustAcquire(first, await openedSession(first, 'ann'));
  await clock.advance(TTL_MS);
  // This client has just started and has not seen the time pass.
  const second = await open(prefix, clock);
  const bob = await openedSession(second, 'bob');
  const refused = await second.leases.acquire(acquiring(bob));
  assert.ok(refused.kind === 'refused' && refused.why === 'reclaim-paused');
  assert.equal(refused.holder.freeInMs, TTL_MS, 'it would have to see all of it itself');
  assert.deepEqual((await second.sessions.sweep({ limit: 10 })).expired, []);
  assert.equal((await second.leases.inspect(KEY)).state, 'expired');

  await giveUp(prefix, 'ann');
  assert.equal((await mustAcquire(second, bob)).predecessor.exit, 'expired');
  await first.close();
  await second.close();
});

test('S-3, E-4: a client that saw the whole time pass ends the session itself, even before etcd does', async () => {
  const prefix = freshPrefix();
  const clock = new ManualClock();
  const first = await open(prefix, clock);
  const second = await open(prefix, clock);
  const ann = await openedSession(first, 'ann');
  const bob = await openedSession(second, 'bob', { ttlMs: HOUR_MS });
  await mustAcquire(first, ann);
  assert.equal((await second.leases.inspect(KEY)).state, 'held');
  await clock.advance(TTL_MS - 1);
  await mustBeat(first, ann);
  await second.leases.inspect(KEY);
  await clock.advance(TTL_MS - 1);
  const early = await second.leases.acquire(acquiring(bob));
  assert.ok(early.kind === 'refused' && early.why === 'held');
  await clock.advance(1);
  assert.equal((await mustAcquire(second, bob)).predecessor.exit, 'expired');
  await first.close();
  await second.close();
});

test('C-1, C-2: a client with a wrong wall clock computes the same store time as the others', async () => {
  const prefix = freshPrefix();
  const clock = new ManualClock();
  const skewed: Clock = {
    wallMs: () => clock.wallMs() + HOUR_MS,
    monotonicMs: () => clock.monotonicMs() + 7 * HOUR_MS,
  };
  const right = await open(prefix, clock);
  const ann = await openedSession(right, 'ann');
  await clock.advance(3_000);
  const wrong = await open(prefix, skewed);
  await openedSession(wrong, 'bob');
  const seen = await Promise.all(
    [right, wrong].map(async (store) => (await store.sessions.inspect(ann.id))?.remainingMs),
  );
  assert.deepEqual(seen, [TTL_MS - 3_000, TTL_MS - 3_000]);
  const opened = await right.sessions.inspect(sessionIdOf('bob'));
  assert.equal(opened?.session.openedAt, clock.wallMs());
  await right.close();
  await wrong.close();
});

test('C-2, C-10: if no client knows the time any more, the sessions that etcd expired prove how much passed', async () => {
  const prefix = freshPrefix();
  const clock = new ManualClock();
  const crashed = await open(prefix, clock);
  await mustAcquire(crashed, await openedSession(crashed, 'ann'));
  const steady = await openedSession(crashed, 'steady', { ttlMs: HOUR_MS });
  await giveUp(prefix, 'ann');
  // Another clock, which does not know how long ago that was.
  const later = new ManualClock();
  await forgetTheTime(prefix, crashed);
  const alone = await open(prefix, later);
  const bob = await openedSession(alone, 'bob');
  assert.equal((await mustAcquire(alone, bob)).predecessor.exit, 'expired');
  const left = (await alone.sessions.inspect(steady.id))?.remainingMs ?? 0;
  assert.equal(left, HOUR_MS - TTL_MS, 'others lose only the proven time');
  await alone.close();
});

/** As after a kill: the client neither answers a request for the time nor writes it down. */
async function forgetTheTime(prefix: string, crashed: KernelStore): Promise<void> {
  const [clock] = await raw.list(`${prefix}w/clock`);
  await crashed.close();
  await raw.put(`${prefix}w/clock`, clock?.value ?? '');
}
