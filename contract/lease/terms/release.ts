import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectUnchanged, unchangedBy } from '../expect.ts';
import {
  acquiring,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  OTHER_KEY,
  openedSession,
  ownerOf,
  sessionIdOf,
} from '../opened-session.ts';

const finished = { exit: 'finished' } as const;

export const releaseCases: readonly ContractCase[] = [
  {
    upholds: 'L-3, A-1',
    name: 'a released key is free for any session in the same instant',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const held = await mustAcquire(store, ann);
      assert.deepEqual(await store.leases.release({ ...held.tenure, ...finished }), {
        kind: 'released',
        replayed: false,
      });
      assert.ok((await mustAcquire(store, bob)).fence > held.fence);
    },
  },
  {
    upholds: 'L-2, U-2',
    name: 'repeating a release succeeds and changes nothing',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustRelease(store, tenure, 'yielded');
      await advance(60_000);
      const again = await unchangedBy(store, () =>
        store.leases.release({ ...tenure, exit: 'yielded' }),
      );
      assert.deepEqual(again, { kind: 'released', replayed: true });
    },
  },
  {
    upholds: 'L-2',
    name: 'a second, different release is refused with the exit and cause of the first',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure, fence } = await mustAcquire(store, ann);
      await store.leases.release({ ...tenure, exit: 'failed', cause: 'disk full' });
      const second = { ...tenure, ...finished };
      await expectUnchanged(store, 'ended', () => store.leases.release(second));
      assert.deepEqual(await store.leases.release(second), {
        kind: 'refused',
        why: 'ended',
        key: KEY,
        fence,
        exit: 'failed',
        cause: 'disk full',
      });
    },
  },
  {
    upholds: 'L-2, S-1',
    name: 'a release after its session ended with the same exit succeeds, swept or not',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const by = { kind: 'owner', owner: ann.owner, exit: 'finished' } as const;
      await store.sessions.end({ id: ann.id, by });
      const release = () => store.leases.release({ ...tenure, ...finished });
      const done = { kind: 'released', replayed: true };
      assert.deepEqual(await unchangedBy(store, release), done);
      await store.sessions.sweep({ limit: 10 });
      assert.deepEqual(await unchangedBy(store, release), done);
    },
  },
  {
    upholds: 'L-4, T-7',
    name: 'a stale release changes nothing of the successor’s term',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const old = await mustAcquire(store, ann);
      await advance(10_000);
      const bob = await openedSession(store, 'bob');
      const held = await mustAcquire(store, bob);
      const stale = { ...old.tenure, ...finished };
      await expectUnchanged(store, 'superseded', () => store.leases.release(stale));
      assert.deepEqual(await store.leases.release(stale), {
        kind: 'refused',
        why: 'superseded',
        key: KEY,
        fence: old.fence,
        newest: held.fence,
        holder: bob.owner,
      });
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'L-2, T-7',
    name: 'repeating a release after a successor entered is refused and does not end its term',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const { tenure } = await mustAcquire(store, ann);
      await mustRelease(store, tenure);
      await mustAcquire(store, bob);
      await expectUnchanged(store, 'superseded', () =>
        store.leases.release({ ...tenure, ...finished }),
      );
    },
  },
  {
    upholds: 'L-4',
    name: 'a release after expiry is refused, and the successor still gets expired',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await advance(10_000);
      const release = () => store.leases.release({ ...tenure, ...finished });
      await expectUnchanged(store, 'expired', release);
      await store.sessions.sweep({ limit: 10 });
      await expectUnchanged(store, 'expired', release);
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'expired');
    },
  },
  {
    upholds: 'L-4, G-1',
    name: 'a lapsed holder cannot release before it rejoins',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await advance(8_000);
      await expectUnchanged(store, 'lapsed', () =>
        store.leases.release({ ...tenure, ...finished }),
      );
      await mustBeat(store, ann);
      await mustRelease(store, tenure);
    },
  },
  {
    upholds: 'L-6, O-2',
    name: 'a released key keeps its fence, its checkpoint and its exit, and shows as free',
    async run({ store, now }) {
      const ann = await openedSession(store, 'ann');
      const { tenure, fence } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 4);
      await mustRelease(store, tenure, 'abandoned');
      const { state, freeInMs, record } = await store.leases.inspect(KEY);
      assert.deepEqual([state, freeInMs], ['free', 0]);
      assert.deepEqual(
        [record?.fence, record?.checkpoint?.seq, record?.end],
        [fence, 4, { at: now(), exit: 'abandoned' }],
      );
    },
  },
  {
    upholds: 'A-1, L-6',
    name: 'an acquire of a retired key is refused, unless it reopens the key',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure, fence } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 9);
      await mustRelease(store, tenure, 'retired');
      assert.equal((await store.leases.inspect(KEY)).state, 'retired');
      await expectUnchanged(store, 'retired', () => store.leases.acquire(acquiring(ann)));
      assert.deepEqual(await store.leases.acquire(acquiring(ann)), {
        kind: 'refused',
        why: 'retired',
        key: KEY,
        fence,
      });
      const reopened = await mustAcquire(store, ann, { reopen: true });
      assert.deepEqual([reopened.predecessor.exit, reopened.checkpoint?.seq], ['retired', 9]);
    },
  },
  {
    upholds: 'A-1, S-1',
    name: 'a key whose session ended as retired is retired, swept or not',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      await mustAcquire(store, ann);
      const by = { kind: 'owner', owner: ann.owner, exit: 'retired' } as const;
      await store.sessions.end({ id: ann.id, by });
      await expectUnchanged(store, 'retired', () => store.leases.acquire(acquiring(bob)));
      await store.sessions.sweep({ limit: 10 });
      await expectUnchanged(store, 'retired', () => store.leases.acquire(acquiring(bob)));
    },
  },
  {
    upholds: 'A-1',
    name: 'an acquire that may reopen a key does not get a held one',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      await mustAcquire(store, ann);
      await expectUnchanged(store, 'held', () =>
        store.leases.acquire(acquiring(bob, { reopen: true })),
      );
    },
  },
  {
    upholds: 'L-1',
    name: 'releasing one lease leaves the session’s other leases as they are',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const other = await mustAcquire(store, ann, { key: OTHER_KEY });
      await mustRelease(store, tenure);
      assert.equal((await store.leases.verify(other)).kind, 'current');
      assert.deepEqual(await store.sessions.leases(ann.id), [
        { key: OTHER_KEY, fence: other.fence },
      ]);
    },
  },
  {
    upholds: 'T-6',
    name: 'a key that was never acquired cannot be released',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { fence } = await mustAcquire(store, ann);
      const forged = { key: keyOf('never'), fence, session: ann.id, ...finished };
      await expectUnchanged(store, 'key-unknown', () => store.leases.release(forged));
    },
  },
  {
    upholds: 'T-6',
    name: 'another session of the same owner cannot release the key',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const second = await openedSession(store, 'twin', { owner: ownerOf('ann') });
      const { tenure } = await mustAcquire(store, ann);
      for (const session of [second.id, sessionIdOf('unknown')]) {
        await expectUnchanged(store, 'not-yours', () =>
          store.leases.release({ ...tenure, session, ...finished }),
        );
      }
    },
  },
  {
    upholds: 'L-2, E-3',
    needs: 'two-clients',
    name: 'releases sent at once with different exits end the term once',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const results = await Promise.all([
        store.leases.release({ ...tenure, exit: 'finished' }),
        other.leases.release({ ...tenure, exit: 'failed' }),
        store.leases.release({ ...tenure, exit: 'yielded' }),
        other.leases.release({ ...tenure, exit: 'finished' }),
      ]);
      const first = results.filter((each) => each.kind === 'released' && !each.replayed);
      assert.equal(first.length, 1);
      assert.equal((await eventsOfKind(store, 'ended')).length, 1);
    },
  },
  {
    upholds: 'A-1, L-3',
    needs: 'two-clients',
    name: 'when a release and several acquires race, at most one gets the key, and only after the release',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const cid = await openedSession(store, 'cid');
      const { tenure, fence } = await mustAcquire(store, ann);
      const [released, ...taken] = await Promise.all([
        store.leases.release({ ...tenure, ...finished }),
        other.leases.acquire(acquiring(bob)),
        store.leases.acquire(acquiring(cid)),
      ]);
      expectKind(released, 'released');
      const grants = taken.filter((result) => result.kind === 'granted');
      assert.ok(grants.length <= 1);
      for (const grant of grants) {
        assert.deepEqual([grant.predecessor.fence, grant.predecessor.exit], [fence, 'finished']);
      }
    },
  },
];
