import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectRefusal, unchangedBy } from '../expect.ts';
import { acquiring, KEY, mustAcquire, mustBeat, openedSession } from '../opened-session.ts';

const outage = { cause: 'the store was away' };

export const fairChanceCases: readonly ContractCase[] = [
  {
    upholds: 'E-6',
    name: 'after an outage a session expires only after its fair chance, to the millisecond',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { fence } = await mustAcquire(store, ann);
      await advance(60_000);
      assert.deepEqual(await store.sessions.recover(outage), { extended: 1 });
      const bob = await openedSession(store, 'bob');
      const refused = expectKind(await store.leases.acquire(acquiring(bob)), 'refused');
      assert(refused.why === 'reclaim-paused');
      assert.deepEqual([refused.holder.fence, refused.holder.freeInMs], [fence, 5_000]);
      await advance(4_999);
      expectRefusal(await store.leases.acquire(acquiring(bob)), 'reclaim-paused');
      assert.deepEqual((await store.sessions.sweep({ limit: 10 })).expired, []);
      await advance(1);
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'expired');
    },
  },
  {
    upholds: 'E-6, G-3',
    name: 'a session that uses its fair chance keeps its leases under the same fence',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await advance(60_000);
      await store.sessions.recover(outage);
      await advance(4_999);
      const beat = expectKind(await store.sessions.heartbeat(ann), 'alive');
      assert.equal(beat.remainingMs, 10_000);
      assert.equal((await store.leases.verify(held)).kind, 'current');
      const bob = await openedSession(store, 'bob');
      expectRefusal(await store.leases.acquire(acquiring(bob)), 'held');
    },
  },
  {
    upholds: 'E-6',
    name: 'the fair chance lasts no longer than the session’s ttl',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', { ttlMs: 1_000, graceMs: 0 });
      await advance(30_000);
      await store.sessions.recover(outage);
      assert.equal((await store.sessions.inspect(ann.id))?.remainingMs, 1_000);
    },
  },
  {
    upholds: 'E-6',
    name: 'a session gets one fair chance per heartbeat, however many outages there are',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await advance(9_000);
      assert.equal((await store.sessions.recover(outage)).extended, 1);
      await advance(4_000);
      const again = await unchangedBy(store, () => store.sessions.recover(outage));
      assert.equal(again.extended, 0);
      await advance(1_000);
      const bob = await openedSession(store, 'bob');
      await mustAcquire(store, bob);
    },
  },
  {
    upholds: 'E-6',
    name: 'a heartbeat earns the next fair chance',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(9_000);
      await store.sessions.recover(outage);
      await mustBeat(store, ann);
      await advance(9_000);
      assert.equal((await store.sessions.recover(outage)).extended, 1);
      assert.equal((await store.sessions.inspect(ann.id))?.remainingMs, 5_000);
    },
  },
  {
    upholds: 'E-6',
    name: 'a session with enough time left is not extended',
    async run({ store, advance }) {
      await openedSession(store, 'ann');
      await advance(5_000);
      const result = await unchangedBy(store, () => store.sessions.recover(outage));
      assert.equal(result.extended, 0);
    },
  },
  {
    upholds: 'E-6, S-4',
    name: 'a recovery does not revive a session that ended or expired',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      await mustAcquire(store, bob);
      const by = { kind: 'owner', owner: ann.owner, exit: 'finished' } as const;
      await store.sessions.end({ id: ann.id, by });
      await advance(10_000);
      await store.sessions.sweep({ limit: 10 });
      const result = await unchangedBy(store, () => store.sessions.recover(outage));
      assert.equal(result.extended, 0);
      assert.equal((await store.leases.inspect(KEY)).state, 'free');
    },
  },
  {
    upholds: 'E-6',
    policy: { recoveryGraceMs: 0 },
    name: 'without a recovery grace an outage extends no session',
    async run({ store, advance }) {
      await openedSession(store, 'ann');
      await advance(9_999);
      const result = await unchangedBy(store, () => store.sessions.recover(outage));
      assert.equal(result.extended, 0);
    },
  },
];
