import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectUnchanged, unchangedBy } from '../expect.ts';
import { mustAcquire, openedSession, openingOf, ownerOf, sessionIdOf } from '../opened-session.ts';

export const openSessionCases: readonly ContractCase[] = [
  {
    upholds: 'S-1, C-7',
    name: 'opening a session returns its ttl, its grace and the time it has, in durations',
    async run({ store }) {
      assert.deepEqual(await store.sessions.open(openingOf('ann')), {
        kind: 'opened',
        replayed: false,
        ttlMs: 10_000,
        graceMs: 2_000,
        authorityMs: 8_000,
        remainingMs: 10_000,
        notices: 0,
      });
    },
  },
  {
    upholds: 'A-6',
    name: 'a ttl below the minimum is raised, and the answer has the granted ttl',
    policy: { ttlMsMin: 5_000 },
    async run({ store }) {
      const opened = expectKind(
        await store.sessions.open(openingOf('ann', { ttlMs: 4_999 })),
        'opened',
      );
      assert.deepEqual([opened.ttlMs, opened.remainingMs], [5_000, 5_000]);
    },
  },
  {
    upholds: 'A-6',
    name: 'a ttl above the maximum is cut, however large, and the session is overdue after the granted ttl',
    policy: { ttlMsMax: 20_000 },
    async run({ store, advance }) {
      const huge = openingOf('ann', { ttlMs: Number.MAX_SAFE_INTEGER });
      const opened = expectKind(await store.sessions.open(huge), 'opened');
      assert.deepEqual([opened.ttlMs, opened.remainingMs], [20_000, 20_000]);
      await advance(20_000);
      assert.equal((await store.sessions.inspect(huge.id))?.state, 'overdue');
    },
  },
  {
    upholds: 'G-1',
    name: 'a grace longer than half the ttl is cut, so that some authority is left',
    async run({ store }) {
      const request = openingOf('ann', { ttlMs: 1_001, graceMs: 900 });
      const opened = expectKind(await store.sessions.open(request), 'opened');
      assert.deepEqual([opened.graceMs, opened.authorityMs], [500, 501]);
    },
  },
  {
    upholds: 'G-1',
    name: 'without a grace the session has authority up to the millisecond before it expires',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', { graceMs: 0 });
      await advance(9_999);
      assert.equal((await store.sessions.inspect(ann.id))?.state, 'alive');
      await advance(1);
      assert.equal((await store.sessions.inspect(ann.id))?.state, 'overdue');
    },
  },
  {
    upholds: 'U-2',
    name: 'opening again with the same settings returns the first session and extends nothing',
    async run({ store, advance }) {
      await openedSession(store, 'ann');
      await advance(3_000);
      const again = await unchangedBy(store, () => store.sessions.open(openingOf('ann')));
      const opened = expectKind(again, 'opened');
      assert.deepEqual([opened.replayed, opened.remainingMs], [true, 7_000]);
    },
  },
  {
    upholds: 'U-2, A-6',
    name: 'opening again with a ttl that is clamped to the same value is the same opening',
    policy: { ttlMsMax: 20_000 },
    async run({ store }) {
      const request = openingOf('ann', { ttlMs: 30_000 });
      await store.sessions.open(request);
      const again = expectKind(await store.sessions.open({ ...request, ttlMs: 40_000 }), 'opened');
      assert.deepEqual([again.replayed, again.ttlMs], [true, 20_000]);
    },
  },
  {
    upholds: 'S-4',
    name: 'a taken session id is refused to another owner',
    async run({ store }) {
      await openedSession(store, 'ann');
      const taken = openingOf('ann', { owner: ownerOf('bob') });
      await expectUnchanged(store, 'session-duplicate', () => store.sessions.open(taken));
    },
  },
  {
    upholds: 'S-4',
    name: 'a taken session id is refused with another ttl or another parent',
    async run({ store }) {
      const root = await openedSession(store, 'root');
      await openedSession(store, 'ann');
      const longer = openingOf('ann', { ttlMs: 10_001 });
      await expectUnchanged(store, 'session-duplicate', () => store.sessions.open(longer));
      const moved = openingOf('ann', { parent: root.id });
      await expectUnchanged(store, 'session-duplicate', () => store.sessions.open(moved));
    },
  },
  {
    upholds: 'S-4',
    name: 'an ended session is not opened again under its id',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const by = { kind: 'owner', owner: ann.owner, exit: 'finished' } as const;
      await store.sessions.end({ id: ann.id, by });
      const opening = openingOf('ann');
      await expectUnchanged(store, 'session-duplicate', () => store.sessions.open(opening));
      await advance(10_000);
      await store.sessions.sweep({ limit: 10 });
      const expired = openingOf('bob', { id: bob.id });
      await expectUnchanged(store, 'session-duplicate', () => store.sessions.open(expired));
    },
  },
  {
    upholds: 'S-1',
    name: 'metadata is kept as given, and a change after the call does not reach the store',
    async run({ store }) {
      const metadata: Record<string, string> = { host: 'h-1', '': 'empty name', 'naïve ✓': '日本' };
      await store.sessions.open(openingOf('ann', { metadata }));
      metadata['host'] = 'h-2';
      const kept = (await store.sessions.inspect(sessionIdOf('ann')))?.session.metadata;
      assert.deepEqual({ ...kept }, { host: 'h-1', '': 'empty name', 'naïve ✓': '日本' });
    },
  },
  {
    upholds: 'A-4, S-1',
    name: 'two processes of one owner are two sessions, and one ends without the other',
    async run({ store }) {
      const first = await openedSession(store, 'first', { owner: ownerOf('billing') });
      const second = await openedSession(store, 'second', { owner: ownerOf('billing') });
      const by = { kind: 'owner', owner: first.owner, exit: 'finished' } as const;
      expectKind(await store.sessions.end({ id: first.id, by }), 'ended');
      assert.equal((await store.sessions.inspect(second.id))?.state, 'alive');
      await mustAcquire(store, second);
    },
  },
  {
    upholds: 'U-2',
    needs: 'two-clients',
    name: 'the same opening from two clients at once opens one session, with one event',
    async run({ store, another }) {
      const other = await another();
      const opened = await Promise.all(
        [store, other, store, other].map((client) => client.sessions.open(openingOf('ann'))),
      );
      const fresh = opened.filter((each) => !expectKind(each, 'opened').replayed);
      assert.equal(fresh.length, 1);
      assert.equal((await eventsOfKind(store, 'session-opened')).length, 1);
    },
  },
];
