import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectUnchanged, unchangedBy } from '../expect.ts';
import {
  draining,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  openedSession,
  ownerOf,
  requestOf,
  saving,
} from '../opened-session.ts';

export const drainCases: readonly ContractCase[] = [
  {
    upholds: 'V-1, S-2',
    name: 'a drain marks the term, and the holder’s list of leases has its actor, reason and deadline',
    async run({ store, now }) {
      const ann = await openedSession(store, 'ann');
      const { key, fence } = await mustAcquire(store, ann);
      const request = draining({ key, fence }, { deadlineMs: 30_000, successor: ownerOf('bob') });
      assert.deepEqual(await store.leases.requestDrain(request), {
        kind: 'draining',
        deadlineInMs: 30_000,
        replayed: false,
      });
      assert.equal((await store.leases.inspect(KEY)).state, 'draining');
      const [carried] = await store.sessions.leases(ann.id);
      assert.deepEqual(carried, {
        key,
        fence,
        deadlineInMs: 30_000,
        drain: {
          request: request.request,
          actor: 'olga',
          reason: 'rebalance',
          requestedAt: now(),
          deadlineAt: now() + 30_000,
          successor: 'bob',
        },
      });
    },
  },
  {
    upholds: 'V-1',
    name: 'a drain deadline is never earlier than the time already promised to the holder',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await advance(1_000);
      const result = expectKind(
        await store.leases.requestDrain(draining(held, { deadlineMs: 1 })),
        'draining',
      );
      assert.equal(result.deadlineInMs, 9_000);
    },
  },
  {
    upholds: 'V-1, V-2, R-1',
    name: 'a draining holder may write and beat up to the deadline, and at the deadline it is revoked',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining(tenure, { deadlineMs: 12_000 }));
      await advance(7_000);
      await mustBeat(store, ann);
      assert.deepEqual(await store.leases.verify(tenure), { kind: 'current', authorityMs: 5_000 });
      await advance(4_999);
      await mustSave(store, tenure, 1);
      await advance(1);
      const bob = await openedSession(store, 'bob');
      await expectUnchanged(store, 'ended', () => store.leases.checkpoint(saving(tenure, 2)));
      const { predecessor, checkpoint } = await mustAcquire(store, bob);
      assert.deepEqual(
        [predecessor.exit, predecessor.endedAt, checkpoint?.seq],
        ['revoked', now(), 1],
      );
      await mustBeat(store, ann);
    },
  },
  {
    upholds: 'V-2',
    name: 'a holder that releases a draining key before the deadline has yielded it',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining(tenure));
      await mustRelease(store, tenure, 'yielded');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'yielded');
    },
  },
  {
    upholds: 'U-2, V-1',
    name: 'repeating a drain returns the time left to its deadline',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining(tenure, { deadlineMs: 20_000 }));
      await advance(5_000);
      const again = await unchangedBy(store, () =>
        store.leases.requestDrain(draining(tenure, { deadlineMs: 20_000 })),
      );
      assert.deepEqual(again, { kind: 'draining', deadlineInMs: 15_000, replayed: true });
    },
  },
  {
    upholds: 'V-1',
    name: 'another drain of a draining key is refused and moves no deadline',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining(tenure, { deadlineMs: 20_000 }));
      await advance(5_000);
      const other = draining(tenure, { request: requestOf('another'), deadlineMs: 1 });
      await expectUnchanged(store, 'already-draining', () => store.leases.requestDrain(other));
      assert.deepEqual(await store.leases.requestDrain(other), {
        kind: 'refused',
        why: 'already-draining',
        key: KEY,
        deadlineInMs: 15_000,
      });
    },
  },
  {
    upholds: 'V-1, T-6',
    name: 'a drain of an ended term does not affect the current one',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const old = await mustAcquire(store, ann);
      const { leases } = store;
      const never = { key: keyOf('never'), fence: old.fence };
      await expectUnchanged(store, 'key-unknown', () => leases.requestDrain(draining(never)));
      await advance(10_000);
      await expectUnchanged(store, 'expired', () => leases.requestDrain(draining(old)));
      const bob = await openedSession(store, 'bob');
      const held = await mustAcquire(store, bob);
      await expectUnchanged(store, 'superseded', () => leases.requestDrain(draining(old)));
      await mustRelease(store, held.tenure);
      await expectUnchanged(store, 'ended', () => leases.requestDrain(draining(held)));
    },
  },
  {
    upholds: 'V-1, O-5',
    name: 'a drain is in the events, with actor, reason and deadline',
    async run({ store, now }) {
      const ann = await openedSession(store, 'ann');
      const { key, fence } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining({ key, fence }, { deadlineMs: 15_000 }));
      const [event] = await eventsOfKind(store, 'drain-requested');
      assert.deepEqual(
        [event?.key, event?.fence, event?.actor, event?.cause, event?.deadlineAt],
        [key, fence, 'olga', 'rebalance', now() + 15_000],
      );
    },
  },
  {
    upholds: 'V-1, G-3',
    name: 'a lapsed term can be drained, and it drains after a rejoin',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await advance(9_000);
      const result = await store.leases.requestDrain(draining(held, { deadlineMs: 4_000 }));
      assert.equal(expectKind(result, 'draining').deadlineInMs, 4_000);
      assert.equal((await store.leases.inspect(KEY)).state, 'lapsed');
      await mustBeat(store, ann);
      assert.equal((await store.leases.inspect(KEY)).state, 'draining');
    },
  },
  {
    upholds: 'V-2',
    name: 'the next term does not inherit the drain',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining(tenure));
      await mustRelease(store, tenure, 'yielded');
      const next = await mustAcquire(store, ann);
      assert.equal(next.deadlineInMs, undefined);
      await advance(7_000);
      await mustBeat(store, ann);
      await advance(7_000);
      assert.equal((await store.leases.inspect(KEY)).state, 'held');
    },
  },
];
