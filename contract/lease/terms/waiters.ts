// Waiters that may keep others waiting, and copies of requests that count.

import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectRefusal, expectUnchanged } from '../expect.ts';
import {
  acquiring,
  attemptOf,
  KEY,
  mustAcquire,
  mustRelease,
  openedSession,
  ownerOf,
} from '../opened-session.ts';

const long = { ttlMs: 3_600_000, graceMs: 0 };
const ticketMs = 10_000;

export const waiterCases: readonly ContractCase[] = [
  {
    upholds: 'A-7, A-9',
    policy: { ticketMs },
    name: 'a live waiter that has not asked for a while does not block others',
    async run({ store, advance }) {
      const ann = await mustAcquire(store, await openedSession(store, 'ann', long));
      const bob = await openedSession(store, 'bob', long);
      expectKind(await store.leases.acquire(acquiring(bob, { wait: true })), 'queued');
      await mustRelease(store, ann.tenure);
      const carol = await openedSession(store, 'carol', long);
      await advance(ticketMs - 1);
      await expectUnchanged(store, 'behind-others', () => store.leases.acquire(acquiring(carol)));
      await advance(1);
      assert.equal((await store.leases.inspect(KEY)).waiting, 0);
      await mustAcquire(store, carol);
    },
  },
  {
    upholds: 'A-7',
    policy: { ticketMs },
    name: 'a waiter that keeps asking keeps its place for as long as it likes',
    async run({ store, advance }) {
      const ann = await mustAcquire(store, await openedSession(store, 'ann', long));
      const bob = await openedSession(store, 'bob', long);
      const attempt = attemptOf('of bob');
      for (let asked = 0; asked < 5; asked += 1) {
        expectKind(await store.leases.acquire(acquiring(bob, { wait: true, attempt })), 'queued');
        await advance(ticketMs - 1);
      }
      await mustRelease(store, ann.tenure);
      const carol = await openedSession(store, 'carol', long);
      expectRefusal(await store.leases.acquire(acquiring(carol)), 'behind-others');
      await mustAcquire(store, bob, { wait: true, attempt });
    },
  },
  {
    upholds: 'G-4, A-7',
    policy: { flapUnitMs: 60_000, ticketMs: 600_000 },
    name: 'an owner that is kept out for its losses does not block others behind it',
    async run({ store, advance }) {
      const shaky = ownerOf('shaky');
      const steady = await openedSession(store, 'steady', long);
      for (let loss = 0; loss < 3; loss += 1) {
        const brief = { owner: shaky, ttlMs: 1_000, graceMs: 0 };
        await mustAcquire(store, await openedSession(store, `shaky ${loss}`, brief));
        await advance(1_000);
        const held = await mustAcquire(store, steady);
        if (loss < 2) await mustRelease(store, held.tenure);
        else {
          const back = await openedSession(store, 'shaky again', { ...long, owner: shaky });
          expectKind(await store.leases.acquire(acquiring(back, { wait: true })), 'queued');
          await mustRelease(store, held.tenure);
        }
      }
      const carol = await openedSession(store, 'carol', long);
      await mustAcquire(store, carol);
    },
  },
  {
    upholds: 'U-2, A-3',
    name: 'a copy of an acquire that arrives after its term has ended is not granted again',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const attempt = attemptOf('sent twice');
      const held = await mustAcquire(store, ann, { attempt });
      await mustRelease(store, held.tenure);
      await expectUnchanged(store, 'attempt-used', () =>
        store.leases.acquire(acquiring(ann, { attempt, wait: true })),
      );
    },
  },
  {
    upholds: 'T-4',
    name: 'a fence that no store could ever issue is refused and does not halt grants',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      const fence = Number.MAX_SAFE_INTEGER as typeof held.fence;
      expectRefusal(await store.leases.verify({ key: KEY, fence }), 'fence-ahead');
      await mustRelease(store, held.tenure);
      await mustAcquire(store, ann);
    },
  },
];
