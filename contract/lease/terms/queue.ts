import assert from 'node:assert/strict';
import type { KernelStore } from '../../../src/lease/port.ts';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectRefusal, expectUnchanged } from '../expect.ts';
import {
  acquiring,
  attemptOf,
  type Held,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  type OpenedSession,
  OTHER_KEY,
  openedSession,
  several,
} from '../opened-session.ts';

const long = { ttlMs: 600_000, graceMs: 0 };

/** Ann holds the key. */
async function held(store: KernelStore): Promise<Held> {
  return mustAcquire(store, await openedSession(store, 'ann', long));
}

/** Acquires and waits, with the same attempt id for the same person and key. */
async function queue(store: KernelStore, who: OpenedSession, key = KEY): Promise<string> {
  const attempt = attemptOf(`of ${who.id} for ${key}`);
  const result = await store.leases.acquire(acquiring(who, { key, attempt, wait: true }));
  return result.kind === 'queued' ? `queued ${result.ahead}` : result.kind;
}

export const queueCases: readonly ContractCase[] = [
  {
    upholds: 'A-7',
    name: 'an acquire without wait is refused at once and leaves no place in the queue',
    async run({ store }) {
      await held(store);
      const bob = await openedSession(store, 'bob');
      await expectUnchanged(store, 'held', () => store.leases.acquire(acquiring(bob)));
      assert.equal((await store.leases.inspect(KEY)).waiting, 0);
    },
  },
  {
    upholds: 'A-7',
    name: 'an acquire with wait returns its place in the queue and the reason for waiting',
    async run({ store }) {
      const { fence } = await held(store);
      const bob = await openedSession(store, 'bob');
      const result = expectKind(
        await store.leases.acquire(acquiring(bob, { wait: true })),
        'queued',
      );
      assert(result.refusal.why === 'held');
      assert.deepEqual([result.ahead, result.refusal.holder.fence], [0, fence]);
      assert.equal((await store.leases.inspect(KEY)).waiting, 1);
    },
  },
  {
    upholds: 'A-7',
    name: 'a free key with an empty queue is granted to a caller that would have waited',
    async run({ store }) {
      const bob = await openedSession(store, 'bob');
      assert.equal(await queue(store, bob), 'granted');
      assert.equal((await store.leases.inspect(KEY)).waiting, 0);
    },
  },
  {
    upholds: 'A-7',
    name: 'waiters are served in the order they came',
    async run({ store }) {
      const ann = await held(store);
      const people = await several(store, 'waiter', { count: 4, ...long });
      for (const [place, who] of people.entries()) {
        assert.equal(await queue(store, who), `queued ${place}`);
      }
      await mustRelease(store, ann.tenure);
      for (const [turn, who] of people.entries()) {
        for (const later of people.slice(turn + 1)) {
          assert.match(await queue(store, later), /^queued/);
        }
        assert.equal(await queue(store, who), 'granted');
        const { record } = await store.leases.inspect(KEY);
        assert(record !== undefined);
        await mustRelease(store, { key: KEY, fence: record.fence, session: who.id });
      }
      assert.equal((await store.leases.inspect(KEY)).waiting, 0);
    },
  },
  {
    upholds: 'A-7, U-2',
    name: 'repeating an acquire with the same attempt keeps the place and takes no second one',
    async run({ store }) {
      await held(store);
      const [bob, cid] = await several(store, 'waiter', { count: 2 });
      assert(bob !== undefined && cid !== undefined);
      await queue(store, bob);
      await queue(store, cid);
      assert.equal(await queue(store, bob), 'queued 0');
      assert.equal(await queue(store, cid), 'queued 1');
      assert.equal((await store.leases.inspect(KEY)).waiting, 2);
    },
  },
  {
    upholds: 'A-7',
    name: 'a newcomer does not overtake the queue though the key is free',
    async run({ store }) {
      const ann = await held(store);
      const bob = await openedSession(store, 'bob');
      await queue(store, bob);
      await mustRelease(store, ann.tenure);
      const cid = await openedSession(store, 'cid');
      const refused = expectKind(await store.leases.acquire(acquiring(cid)), 'refused');
      assert.deepEqual(refused, { kind: 'refused', why: 'behind-others', key: KEY, ahead: 1 });
      assert.equal(await queue(store, cid), 'queued 1');
      assert.equal(await queue(store, bob), 'granted');
    },
  },
  {
    upholds: 'A-7',
    name: 'the last holder of a key has no advantage over waiters',
    async run({ store }) {
      const ann = await openedSession(store, 'ann', long);
      const { tenure } = await mustAcquire(store, ann);
      const bob = await openedSession(store, 'bob');
      await queue(store, bob);
      await mustRelease(store, tenure);
      expectRefusal(await store.leases.acquire(acquiring(ann)), 'behind-others');
    },
  },
  {
    upholds: 'A-7',
    name: 'a waiter that withdraws gives up its place, and the next one moves up',
    async run({ store }) {
      const ann = await held(store);
      const [bob, cid] = await several(store, 'waiter', { count: 2 });
      assert(bob !== undefined && cid !== undefined);
      await queue(store, bob);
      await queue(store, cid);
      const place = { key: KEY, attempt: attemptOf(`of ${bob.id} for ${KEY}`) };
      assert.deepEqual(await store.leases.withdraw(place), { kind: 'withdrawn', wasQueued: true });
      assert.equal((await store.leases.inspect(KEY)).waiting, 1);
      assert.equal(await queue(store, cid), 'queued 0');
      await mustRelease(store, ann.tenure);
      assert.equal(await queue(store, cid), 'granted');
    },
  },
  {
    upholds: 'A-7, U-2',
    name: 'withdrawing twice, or from a place that was never taken, succeeds and returns that it was not queued',
    async run({ store }) {
      await held(store);
      const bob = await openedSession(store, 'bob');
      await queue(store, bob);
      const place = { key: KEY, attempt: attemptOf(`of ${bob.id} for ${KEY}`) };
      await store.leases.withdraw(place);
      const nothing = { kind: 'withdrawn', wasQueued: false };
      assert.deepEqual(await store.leases.withdraw(place), nothing);
      const unknown = { key: OTHER_KEY, attempt: attemptOf('nobody’s') };
      assert.deepEqual(await store.leases.withdraw(unknown), nothing);
    },
  },
  {
    upholds: 'A-7, A-9',
    name: 'a waiter that is overdue or ended does not block the queue, with or without a sweep',
    async run({ store, advance }) {
      const ann = await held(store);
      const dead = await openedSession(store, 'dead');
      const ended = await openedSession(store, 'ended', long);
      const last = await openedSession(store, 'last', long);
      for (const who of [dead, ended, last]) await queue(store, who);
      const by = { kind: 'owner', owner: ended.owner, exit: 'finished' } as const;
      await store.sessions.end({ id: ended.id, by });
      assert.equal(await queue(store, last), 'queued 1');
      await advance(10_000);
      assert.equal(await queue(store, last), 'queued 0');
      assert.equal((await store.leases.inspect(KEY)).waiting, 1);
      await store.sessions.sweep({ limit: 10 });
      assert.equal(await queue(store, last), 'queued 0');
      await mustRelease(store, ann.tenure);
      assert.equal(await queue(store, last), 'granted');
    },
  },
  {
    upholds: 'A-7',
    name: 'a sweep removes no live or lapsed waiter from the queue',
    async run({ store, advance }) {
      await held(store);
      const lapsed = await openedSession(store, 'lapsed');
      const alive = await openedSession(store, 'alive', long);
      await queue(store, lapsed);
      await queue(store, alive);
      await advance(9_000);
      await store.sessions.sweep({ limit: 10 });
      assert.equal((await store.leases.inspect(KEY)).waiting, 2);
      await mustBeat(store, lapsed);
      assert.equal(await queue(store, lapsed), 'queued 0');
      assert.equal(await queue(store, alive), 'queued 1');
    },
  },
  {
    upholds: 'A-7, G-3',
    name: 'a waiter that lapsed keeps its place until it expires',
    async run({ store, advance }) {
      const ann = await held(store);
      const slow = await openedSession(store, 'slow');
      const next = await openedSession(store, 'next', long);
      await queue(store, slow);
      await queue(store, next);
      await mustRelease(store, ann.tenure);
      await advance(9_999);
      assert.equal(await queue(store, next), 'queued 1');
      await mustBeat(store, slow);
      assert.equal(await queue(store, slow), 'granted');
    },
  },
  {
    upholds: 'A-7',
    name: 'every key has its own queue',
    async run({ store }) {
      const ann = await openedSession(store, 'ann', long);
      const [bob, cid] = await several(store, 'waiter', { count: 2 });
      assert(bob !== undefined && cid !== undefined);
      await mustAcquire(store, ann);
      await mustAcquire(store, ann, { key: OTHER_KEY });
      assert.equal(await queue(store, bob), 'queued 0');
      assert.equal(await queue(store, cid, OTHER_KEY), 'queued 0');
      assert.equal(await queue(store, cid), 'queued 1');
    },
  },
  {
    upholds: 'A-7, A-10',
    name: 'an acquire with wait of a retired key is refused, not queued',
    async run({ store }) {
      const { tenure } = await held(store);
      await mustRelease(store, tenure, 'retired');
      const bob = await openedSession(store, 'bob');
      expectRefusal(await store.leases.acquire(acquiring(bob, { wait: true })), 'retired');
      assert.equal((await store.leases.inspect(KEY)).waiting, 0);
    },
  },
  {
    upholds: 'A-7',
    needs: 'two-clients',
    name: 'clients that join the queue at once each get a different place',
    async run({ store, another }) {
      const other = await another();
      const key = keyOf('popular');
      const ann = await openedSession(store, 'ann', long);
      await mustAcquire(store, ann, { key });
      const people = await several(store, 'waiter', { count: 8 });
      await Promise.all(
        people.map((who, number) => queue(number % 2 === 0 ? store : other, who, key)),
      );
      const places = [];
      for (const who of people) places.push(await queue(store, who, key));
      assert.deepEqual(
        places.sort(),
        people.map((_, place) => `queued ${place}`),
      );
    },
  },
];
