import assert from 'node:assert/strict';
import type { KernelStore } from '../../../src/lease/port.ts';
import { PROJECT_METADATA } from '../../../src/lease/session.ts';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectRefusal } from '../expect.ts';
import {
  acquiring,
  attemptOf,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  type OpenedSession,
  openedSession,
  several,
} from '../opened-session.ts';

interface Crowd {
  readonly silent: readonly OpenedSession[];
  readonly steady: readonly OpenedSession[];
}

/** Some sessions that are overdue after ten seconds, and some that live for an hour. */
async function crowd(store: KernelStore, silent: number, steady: number): Promise<Crowd> {
  return {
    silent: await several(store, 'silent', { count: silent }),
    steady: await several(store, 'steady', { count: steady, ttlMs: 3_600_000 }),
  };
}

const sweepAll = { limit: 100 };

export const massExpiryCases: readonly ContractCase[] = [
  {
    upholds: 'E-8, R-1',
    name: 'after a stall of the store live sessions continue at once, held back by the breaker or not',
    async run({ store, advance }) {
      const { silent, steady } = await crowd(store, 12, 1);
      const [bob] = steady;
      assert(bob !== undefined);
      for (const [index, ann] of silent.entries()) {
        await mustAcquire(store, ann, { key: keyOf(`key ${index}`) });
      }
      await advance(15_000);
      for (const ann of silent.slice(0, 3)) await mustBeat(store, ann);
      expectRefusal(
        await store.leases.acquire(acquiring(bob, { key: keyOf('key 11') })),
        'reclaim-paused',
      );
      for (const ann of silent.slice(3)) await mustBeat(store, ann);
      for (const index of silent.keys()) {
        const result = await store.leases.acquire(acquiring(bob, { key: keyOf(`key ${index}`) }));
        expectRefusal(result, 'held');
      }
    },
  },
  {
    upholds: 'E-8',
    name: 'when more than half of ten sessions are overdue at once, none expires, and there is an alarm',
    async run({ store, advance }) {
      await crowd(store, 6, 4);
      await advance(10_000);
      const swept = await store.sessions.sweep(sweepAll);
      assert.deepEqual([swept.expired, swept.paused], [[], 6]);
      const alarms = await eventsOfKind(store, 'alarm');
      assert.deepEqual(
        alarms.map(({ alarm }) => alarm),
        ['mass-expiry'],
      );
    },
  },
  {
    upholds: 'E-8',
    name: 'exactly the tolerated share expires as usual',
    async run({ store, advance }) {
      const { silent } = await crowd(store, 5, 5);
      await advance(10_000);
      const swept = await store.sessions.sweep(sweepAll);
      assert.deepEqual([...swept.expired].sort(), silent.map(({ id }) => id).sort());
      assert.deepEqual(await eventsOfKind(store, 'alarm'), []);
    },
  },
  {
    upholds: 'E-8',
    name: 'with fewer than ten sessions the breaker never holds any back',
    async run({ store, advance }) {
      await crowd(store, 9, 0);
      await advance(10_000);
      const swept = await store.sessions.sweep(sweepAll);
      assert.deepEqual([swept.expired.length, swept.paused], [9, 0]);
    },
  },
  {
    upholds: 'E-8',
    name: 'the breaker lets go at its bound, to the millisecond, even without any heartbeat',
    async run({ store, advance }) {
      await crowd(store, 10, 0);
      await advance(10_000);
      assert.equal((await store.sessions.sweep(sweepAll)).paused, 10);
      await advance(14_999);
      assert.deepEqual((await store.sessions.sweep(sweepAll)).expired, []);
      await advance(1);
      const swept = await store.sessions.sweep(sweepAll);
      assert.deepEqual([swept.expired.length, swept.paused], [10, 0]);
      assert.equal((await eventsOfKind(store, 'alarm')).length, 1);
    },
  },
  {
    upholds: 'E-8, A-1',
    name: 'the breaker holds back an acquire like a sweep, and the refusal gives that reason',
    async run({ store, advance }) {
      const { silent, steady } = await crowd(store, 7, 3);
      const [lost] = silent;
      const [taker] = steady;
      assert(lost !== undefined && taker !== undefined);
      await mustAcquire(store, lost);
      await advance(10_000);
      expectRefusal(await store.leases.acquire(acquiring(taker)), 'reclaim-paused');
      assert.equal((await store.leases.inspect(KEY)).freeInMs, 15_000);
      await advance(15_000);
      assert.equal((await mustAcquire(store, taker)).predecessor.exit, 'expired');
    },
  },
  {
    upholds: 'E-8, A-7',
    name: 'a waiter that the breaker holds back does not block a free key, and gets its place back when it beats',
    async run({ store, advance }) {
      const { silent, steady } = await crowd(store, 7, 3);
      const [waiter, child] = silent;
      const [holder, next] = steady;
      assert(waiter !== undefined && child !== undefined);
      assert(holder !== undefined && next !== undefined);
      const { tenure } = await mustAcquire(store, holder);
      const below = await openedSession(store, 'below', { parent: child.id, ttlMs: 3_600_000 });
      const waiting = [waiter, below].map((who) =>
        acquiring(who, { attempt: attemptOf(`of ${who.owner}`), wait: true }),
      );
      for (const each of waiting) expectKind(await store.leases.acquire(each), 'queued');
      await advance(10_000);
      assert.equal((await store.sessions.sweep(sweepAll)).paused, 7);
      assert.equal((await store.leases.inspect(KEY)).waiting, 0);
      await mustBeat(store, waiter);
      await mustRelease(store, tenure);
      expectRefusal(await store.leases.acquire(acquiring(next)), 'behind-others');
      await advance(9_999);
      expectRefusal(await store.leases.acquire(acquiring(next)), 'behind-others');
      await advance(1);
      await mustAcquire(store, next);
    },
  },
  {
    upholds: 'E-8',
    name: 'a session that beats during the pause lives on, and the others expire at its end',
    async run({ store, advance }) {
      const { silent } = await crowd(store, 10, 0);
      const [back, ...gone] = silent;
      assert(back !== undefined);
      await advance(10_000);
      await store.sessions.sweep(sweepAll);
      await advance(14_000);
      await mustBeat(store, back);
      await advance(1_000);
      const { expired } = await store.sessions.sweep(sweepAll);
      assert.deepEqual([...expired].sort(), gone.map(({ id }) => id).sort());
      assert.equal((await store.sessions.inspect(back.id))?.state, 'alive');
    },
  },
  {
    upholds: 'E-8',
    name: 'sessions that expired earlier in the window count towards the share',
    async run({ store, advance }) {
      await crowd(store, 5, 3);
      await several(store, 'later', { count: 3, ttlMs: 15_000 });
      await advance(10_000);
      assert.equal((await store.sessions.sweep(sweepAll)).expired.length, 5);
      await advance(5_000);
      const second = await store.sessions.sweep(sweepAll);
      assert.deepEqual([second.expired, second.paused], [[], 3]);
    },
  },
  {
    upholds: 'E-8',
    policy: { breakerWindowMs: 5_000 },
    name: 'sessions that expired before the window do not count',
    async run({ store, advance }) {
      await crowd(store, 5, 7);
      await several(store, 'later', { count: 3, ttlMs: 15_000 });
      await advance(10_000);
      assert.equal((await store.sessions.sweep(sweepAll)).expired.length, 5);
      await advance(5_000);
      assert.equal((await store.sessions.sweep(sweepAll)).expired.length, 3);
    },
  },
  {
    upholds: 'E-8',
    policy: { breakerHoldMs: 0 },
    name: 'a breaker without a pause delays no expiry past the next sweep',
    async run({ store, advance }) {
      await crowd(store, 10, 0);
      await advance(10_000);
      await store.sessions.sweep(sweepAll);
      await store.sessions.sweep(sweepAll);
      const left = await store.sessions.list({ limit: 100 });
      assert.deepEqual(left, []);
      const bob = await openedSession(store, 'bob');
      await mustAcquire(store, bob);
    },
  },
  {
    upholds: 'E-8, E-9',
    needs: 'projects',
    name: 'each project has its own breaker: dying sessions of one do not delay another',
    async run({ store, advance }) {
      const hostile = { metadata: { [PROJECT_METADATA]: 'hostile' } };
      const healthy = { metadata: { [PROJECT_METADATA]: 'healthy' } };
      await several(store, 'hostile', { count: 12, ...hostile });
      const gone = await openedSession(store, 'gone', healthy);
      const bare = await openedSession(store, 'bare');
      await openedSession(store, 'steady', { ttlMs: 3_600_000, ...healthy });
      await advance(10_000);
      const swept = await store.sessions.sweep(sweepAll);
      assert.deepEqual([...swept.expired].sort(), [gone.id, bare.id].sort());
      assert.equal(swept.paused, 12);
      const [alarm] = await eventsOfKind(store, 'alarm');
      assert.equal(alarm?.cause, '12 of 12 sessions of project "hostile"');
      await openedSession(store, 'next', healthy);
      await advance(10_000);
      assert.equal((await store.sessions.sweep(sweepAll)).expired.length, 1);
    },
  },
];
