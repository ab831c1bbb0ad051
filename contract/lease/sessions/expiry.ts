import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { allEvents, eventsOfKind, expectKind, unchangedBy } from '../expect.ts';
import {
  acquiring,
  beginning,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustSave,
  OTHER_KEY,
  openedSession,
  several,
} from '../opened-session.ts';

const NOTHING = { expired: [], ended: [], deleted: 0, paused: 0, more: false };

export const expiryCases: readonly ContractCase[] = [
  {
    upholds: 'E-1, S-3',
    name: 'from its expiry on a lease is shown as expired, without a sweep or an event',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      const before = await allEvents(store);
      await advance(9_999);
      assert.equal((await store.leases.inspect(KEY)).state, 'lapsed');
      await advance(1);
      assert.equal((await store.leases.inspect(KEY)).state, 'expired');
      const inspected = await store.sessions.inspect(ann.id);
      assert.deepEqual([inspected?.state, inspected?.session.end], ['overdue', undefined]);
      assert.deepEqual(await allEvents(store), before);
    },
  },
  {
    upholds: 'E-4, A-1',
    name: 'an acquire is refused a millisecond before expiry, and at expiry it needs no sweep',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann');
      const { fence } = await mustAcquire(store, ann);
      await advance(9_999);
      const bob = await openedSession(store, 'bob');
      const result = expectKind(
        await unchangedBy(store, () => store.leases.acquire(acquiring(bob))),
        'refused',
      );
      assert(result.why === 'held');
      assert.deepEqual([result.holder.state, result.holder.freeInMs], ['lapsed', 1]);
      await advance(1);
      const { predecessor } = await mustAcquire(store, bob);
      assert.deepEqual(predecessor, { exit: 'expired', owner: ann.owner, fence, endedAt: now() });
    },
  },
  {
    upholds: 'E-2, E-4',
    name: 'a sweep a millisecond before expiry does nothing, and at expiry it ends session and term',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { key, fence } = await mustAcquire(store, ann);
      await advance(9_999);
      assert.deepEqual(
        await unchangedBy(store, () => store.sessions.sweep({ limit: 10 })),
        NOTHING,
      );
      await advance(1);
      assert.deepEqual(await store.sessions.sweep({ limit: 10 }), {
        ...NOTHING,
        expired: [ann.id],
        ended: [{ key, fence }],
      });
      assert.equal((await store.sessions.inspect(ann.id))?.state, 'ended');
      assert.equal((await store.leases.inspect(KEY)).state, 'free');
    },
  },
  {
    upholds: 'E-2',
    name: 'a sweep does not expire a session that was renewed just before',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await advance(9_999);
      await mustBeat(store, ann);
      await advance(1);
      assert.deepEqual(await store.sessions.sweep({ limit: 10 }), NOTHING);
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'E-3',
    name: 'an expired term has one end event, whether a sweep or a successor comes first',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await mustAcquire(store, ann, { key: OTHER_KEY });
      await advance(10_000);
      const bob = await openedSession(store, 'bob');
      await mustAcquire(store, bob);
      await store.sessions.sweep({ limit: 10 });
      await store.sessions.sweep({ limit: 10 });
      await mustAcquire(store, bob, { key: OTHER_KEY });
      await store.sessions.sweep({ limit: 10 });
      const ended = await eventsOfKind(store, 'ended');
      assert.deepEqual(ended.map(({ key, exit }) => `${key} ${exit}`).sort(), [
        `${KEY} expired`,
        `${OTHER_KEY} expired`,
      ]);
      assert.equal((await eventsOfKind(store, 'session-ended')).length, 1);
    },
  },
  {
    upholds: 'E-3, A-2',
    name: 'the successor gets the same facts with and without an earlier sweep',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const swept = await mustAcquire(store, ann);
      await mustSave(store, swept.tenure, 1);
      await store.leases.beginIntent(beginning(swept.tenure, 'pay'));
      await advance(10_000);
      await store.sessions.sweep({ limit: 10 });
      await advance(5_000);
      const bob = await openedSession(store, 'bob');
      const grant = await mustAcquire(store, bob);
      assert.deepEqual(
        [grant.predecessor.exit, grant.predecessor.fence, grant.checkpoint?.seq],
        ['expired', swept.fence, 1],
      );
      assert.deepEqual(
        grant.intents.map(({ effect, fence }) => [effect, fence]),
        [['pay', swept.fence]],
      );
    },
  },
  {
    upholds: 'T-7, E-1',
    name: 'a sweep leaves the fence of an ended term; only the next grant changes it',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { fence } = await mustAcquire(store, ann);
      await advance(10_000);
      await store.sessions.sweep({ limit: 10 });
      const { record } = await store.leases.inspect(KEY);
      assert.deepEqual([record?.fence, record?.end?.exit], [fence, 'expired']);
    },
  },
  {
    upholds: 'E-4',
    name: 'a sweep respects its limit, reports that there is more, and finishes over several calls',
    policy: { flapUnitMs: 0 },
    async run({ store, advance }) {
      const people = await several(store, 'worker', { count: 5 });
      for (const [number, who] of people.entries()) {
        await mustAcquire(store, who, { key: keyOf(`part ${number}`) });
      }
      await advance(10_000);
      const first = await store.sessions.sweep({ limit: 2 });
      assert.deepEqual([first.expired.length, first.more], [2, true]);
      const expired = [...first.expired];
      for (let more = true; more; ) {
        const swept = await store.sessions.sweep({ limit: 2 });
        assert.ok(swept.expired.length <= 2 && swept.ended.length <= 2);
        expired.push(...swept.expired);
        more = swept.more;
      }
      assert.deepEqual(expired.sort(), people.map(({ id }) => id).sort());
      assert.equal((await eventsOfKind(store, 'ended')).length, 5);
    },
  },
  {
    upholds: 'E-4, S-1',
    name: 'the ends of a session’s many leases are recorded in several sweeps, and all of them are',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      for (let number = 0; number < 5; number += 1) {
        await mustAcquire(store, ann, { key: keyOf(`part ${number}`) });
      }
      await advance(10_000);
      const first = await store.sessions.sweep({ limit: 2 });
      assert.deepEqual([first.expired.length, first.ended.length, first.more], [1, 2, true]);
      for (let more = true; more; ) {
        const swept = await store.sessions.sweep({ limit: 2 });
        assert.ok(swept.ended.length <= 2);
        more = swept.more;
      }
      assert.equal((await eventsOfKind(store, 'ended')).length, 5);
    },
  },
  {
    upholds: 'E-3, O-5',
    name: 'a sweep records the ends that follow from the end of a session or from a deadline',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const first = await mustAcquire(store, ann);
      const second = await mustAcquire(store, bob, { key: OTHER_KEY, tenureMsMax: 500 });
      const by = { kind: 'owner', owner: ann.owner, exit: 'failed' } as const;
      await store.sessions.end({ id: ann.id, by });
      await advance(500);
      const swept = await store.sessions.sweep({ limit: 10 });
      assert.deepEqual(
        [...swept.ended].sort((a, b) => a.fence - b.fence),
        [
          { key: KEY, fence: first.fence },
          { key: OTHER_KEY, fence: second.fence },
        ],
      );
      const ended = await eventsOfKind(store, 'ended');
      assert.deepEqual(ended.map(({ key, exit }) => `${key} ${exit}`).sort(), [
        `${KEY} failed`,
        `${OTHER_KEY} revoked`,
      ]);
    },
  },
  {
    upholds: 'E-2, S-3',
    needs: 'two-clients',
    name: 'when a late heartbeat and a reclaim race, at most one wins, and both agree on which',
    async run({ store, another, advance }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob', { ttlMs: 60_000 });
      await mustAcquire(store, ann);
      await advance(9_999);
      const [beat, taken] = await Promise.all([
        store.sessions.heartbeat(ann),
        other.leases.acquire(acquiring(bob)),
        advance(1),
      ]);
      assert.ok(!(beat.kind === 'alive' && taken.kind === 'granted'), 'both must not win');
      const { state, record } = await store.leases.inspect(KEY);
      if (beat.kind === 'alive') assert.deepEqual([state, record?.session], ['held', ann.id]);
      else if (taken.kind === 'granted')
        assert.deepEqual([state, record?.session], ['held', bob.id]);
      else assert.deepEqual([state, record?.session], ['expired', ann.id]);
    },
  },
  {
    upholds: 'E-3',
    needs: 'two-clients',
    name: 'sweeps of two clients at once report and record every expiry once',
    async run({ store, another, advance }) {
      const other = await another();
      const people = await several(store, 'worker', { count: 6 });
      for (const [number, who] of people.entries()) {
        await mustAcquire(store, who, { key: keyOf(`part ${number}`) });
      }
      await advance(10_000);
      const swept = await Promise.all(
        [store, other, store, other].map((client) => client.sessions.sweep({ limit: 10 })),
      );
      const ids = people.map(({ id }) => id).sort();
      assert.deepEqual(swept.flatMap(({ expired }) => expired).sort(), ids);
      assert.equal(swept.flatMap(({ ended }) => ended).length, 6);
      assert.equal((await eventsOfKind(store, 'ended')).length, 6);
      assert.equal((await eventsOfKind(store, 'session-ended')).length, 6);
    },
  },
];
