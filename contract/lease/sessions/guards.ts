// Conditions whose effect shows only in combination.

import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectUnchanged } from '../expect.ts';
import { KEY, mustAcquire, OTHER_KEY, openedSession, several, TTL_MS } from '../opened-session.ts';

export const sessionGuardCases: readonly ContractCase[] = [
  {
    upholds: 'H-2, R-1',
    name: 'a child’s heartbeat brings no authority while its parent is overdue, and is refused once the parent has ended',
    async run({ store, advance }) {
      const parent = await openedSession(store, 'parent');
      const child = await openedSession(store, 'child', { parent: parent.id, ttlMs: 60_000 });
      await advance(TTL_MS);
      const early = expectKind(await store.sessions.heartbeat(child), 'alive');
      assert(early.authorityMs <= 0 && early.remainingMs <= 0);
      await store.sessions.sweep({ limit: 10 });
      await expectUnchanged(store, 'session-expired', () => store.sessions.heartbeat(child));
    },
  },
  {
    upholds: 'H-2, L-4',
    name: 'from the millisecond its parent expires, a child’s owner cannot declare how the child ended',
    async run({ store, advance }) {
      const parent = await openedSession(store, 'parent');
      const child = await openedSession(store, 'child', { parent: parent.id, ttlMs: 60_000 });
      const by = { kind: 'owner', owner: child.owner, exit: 'finished' } as const;
      await advance(10_000);
      await expectUnchanged(store, 'session-expired', () =>
        store.sessions.end({ id: child.id, by }),
      );
    },
  },
  {
    upholds: 'E-8, E-6',
    name: 'the breaker holds back only sessions that have not had their chance; the others expire',
    async run({ store, advance }) {
      const early = await several(store, 'early', { count: 10 });
      await advance(10_000);
      assert.equal((await store.sessions.sweep({ limit: 100 })).paused, 10);
      await advance(5_000);
      await several(store, 'late', { count: 12 });
      await advance(10_000);
      const swept = await store.sessions.sweep({ limit: 100 });
      assert.deepEqual([...swept.expired].sort(), early.map(({ id }) => id).sort());
      assert.equal(swept.paused, 12);
    },
  },
  {
    upholds: 'E-8',
    name: 'after a pause the breaker neither holds sessions back nor alarms again, though most expired just before',
    async run({ store, advance }) {
      await several(store, 'silent', { count: 10 });
      await advance(10_000);
      assert.equal((await store.sessions.sweep({ limit: 100 })).paused, 10);
      await advance(15_000);
      assert.equal((await store.sessions.sweep({ limit: 6 })).expired.length, 6);
      const rest = await store.sessions.sweep({ limit: 6 });
      assert.deepEqual([rest.expired.length, rest.paused], [4, 0]);
      assert.equal((await eventsOfKind(store, 'alarm')).length, 1);
    },
  },
  {
    upholds: 'H-1, L-6',
    policy: { retentionMs: 60_000 },
    name: 'leases below an ended session keep that session’s end, however small the sweeps are',
    async run({ store, advance }) {
      const parent = await openedSession(store, 'parent', { ttlMs: 600_000 });
      const child = await openedSession(store, 'child', { ttlMs: 600_000, parent: parent.id });
      const bob = await openedSession(store, 'bob', { ttlMs: 600_000 });
      for (const key of [KEY, OTHER_KEY]) await mustAcquire(store, child, { key });
      for (const [who, reason] of [[parent, 'first'] as const, [child, 'second'] as const]) {
        const by = { kind: 'operator', actor: 'olga', reason } as const;
        expectKind(await store.sessions.end({ id: who.id, by }), 'ended');
        await advance(1);
      }
      await advance(60_000);
      for (let sweeps = 0; sweeps < 10; sweeps += 1) await store.sessions.sweep({ limit: 1 });
      for (const key of [KEY, OTHER_KEY]) {
        assert.equal((await mustAcquire(store, bob, { key })).predecessor.cause, 'first');
      }
    },
  },
];
