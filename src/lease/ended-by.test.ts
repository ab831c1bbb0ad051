// The holder learns who ended its term, and why (O-5).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import type { HeldLease } from './held-lease.ts';
import { openSession, type Session } from './live-session.ts';
import { LeaseNotHeld } from './not-held.ts';
import { drainLease, revokeLease } from './operate.ts';

const TTL_MS = 9_000;
const BY = { actor: 'olga', reason: 'wrong region' };

interface World {
  readonly clock: ManualClock;
  readonly faulty: FaultyStore;
  readonly ann: Session;
  readonly lease: HeldLease;
  open(owner: string): Promise<Session>;
}

async function makeWorld(): Promise<World> {
  const clock = new ManualClock();
  const { timers } = clock;
  const faulty = faultyStore(openMemoryStore({ clock }));
  const open = (owner: string): Promise<Session> =>
    openSession({ store: faulty.store, owner, ttlMs: TTL_MS, clock, timers });
  const ann = await open('ann');
  const got = await ann.acquire('k');
  assert.ok(got.kind === 'acquired');
  return { clock, faulty, ann, lease: got.lease, open };
}

function reasonOf(lease: HeldLease): LeaseNotHeld {
  const { reason } = lease.signal;
  assert.ok(reason instanceof LeaseNotHeld);
  return reason;
}

test('O-5: a revoked holder gets the actor and the reason', async () => {
  const { faulty, ann, lease } = await makeWorld();
  await revokeLease({ store: faulty.store, key: 'k', fence: lease.fence, ...BY });
  await ann.heartbeat();
  const { by, ended, message } = reasonOf(lease);
  assert.equal(by, 'lost');
  assert.deepEqual(ended, { exit: 'revoked', actor: 'olga', cause: 'wrong region' });
  assert.match(message, /revoked by olga: wrong region/);
});

test('O-5: a revoked holder gets them also when a successor has the key', async () => {
  const { faulty, ann, lease, open } = await makeWorld();
  await revokeLease({ store: faulty.store, key: 'k', fence: lease.fence, ...BY });
  const bob = await open('bob');
  assert.equal((await bob.acquire('k')).kind, 'acquired');
  await ann.heartbeat();
  assert.deepEqual(reasonOf(lease).ended, {
    exit: 'revoked',
    actor: 'olga',
    cause: 'wrong region',
  });
});

test('O-5: when a drain deadline has passed, the holder gets the drain’s actor', async () => {
  const { faulty, clock, ann, lease } = await makeWorld();
  const deadlineMs = 30_000;
  await drainLease({ store: faulty.store, key: 'k', fence: lease.fence, deadlineMs, ...BY });
  await ann.heartbeat();
  await clock.advance(deadlineMs);
  assert.throws(() => lease.assertHeld(0), LeaseNotHeld);
  const { by, ended } = reasonOf(lease);
  assert.equal(by, 'deadline');
  assert.deepEqual(ended, { exit: 'revoked', actor: 'olga', cause: 'wrong region' });
});

test('O-5: a store that does not return the reason does not keep a holder from stopping', async () => {
  for (const fault of ['unavailable', 'hung-before'] as const) {
    const { faulty, clock, ann, lease } = await makeWorld();
    await revokeLease({ store: faulty.store, key: 'k', fence: lease.fence, ...BY });
    faulty.fail('leases.inspect', fault, 99);
    const beating = ann.heartbeat();
    await clock.advance(TTL_MS / 20);
    await beating;
    const { by, ended } = reasonOf(lease);
    assert.deepEqual([by, ended], ['lost', undefined]);
  }
});
