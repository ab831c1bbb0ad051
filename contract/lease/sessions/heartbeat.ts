import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { allEvents, expectKind, expectRefusal, expectUnchanged } from '../expect.ts';
import {
  acquiring,
  draining,
  keyOf,
  mustAcquire,
  mustBeat,
  OTHER_KEY,
  openedSession,
  ownerOf,
  revoking,
  sessionIdOf,
  TTL_MS,
} from '../opened-session.ts';

export const heartbeatCases: readonly ContractCase[] = [
  {
    upholds: 'R-2',
    name: 'a heartbeat extends the session to a whole ttl from now',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(7_000);
      assert.deepEqual(await store.sessions.heartbeat(ann), {
        kind: 'alive',
        rejoined: false,
        ttlMs: 10_000,
        graceMs: 2_000,
        authorityMs: 8_000,
        remainingMs: 10_000,
        notices: 0,
      });
    },
  },
  {
    upholds: 'R-2',
    name: 'a heartbeat may ask for a longer ttl, and later heartbeats keep it',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const longer = expectKind(await store.sessions.heartbeat({ ...ann, ttlMs: 30_000 }), 'alive');
      assert.equal(longer.remainingMs, 30_000);
      await advance(12_000);
      assert.equal(expectKind(await store.sessions.heartbeat(ann), 'alive').remainingMs, 30_000);
    },
  },
  {
    upholds: 'R-2',
    name: 'a heartbeat that would shorten the session is refused with the time left',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(1_000);
      const shorter = { ...ann, ttlMs: 8_999 };
      await expectUnchanged(store, 'would-shorten', () => store.sessions.heartbeat(shorter));
      assert.deepEqual(await store.sessions.heartbeat(shorter), {
        kind: 'refused',
        why: 'would-shorten',
        session: ann.id,
        remainingMs: 9_000,
      });
    },
  },
  {
    upholds: 'R-2',
    name: 'a shorter ttl is accepted from the moment it no longer shortens the session',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(5_000);
      const beat = expectKind(await store.sessions.heartbeat({ ...ann, ttlMs: 5_000 }), 'alive');
      assert.deepEqual([beat.ttlMs, beat.remainingMs, beat.authorityMs], [5_000, 5_000, 3_000]);
      await advance(1_000);
      assert.equal(expectKind(await store.sessions.heartbeat(ann), 'alive').remainingMs, 5_000);
    },
  },
  {
    upholds: 'A-6',
    name: 'the ttl of a heartbeat is clamped like that of an opening',
    policy: { ttlMsMax: 20_000 },
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const beat = expectKind(
        await store.sessions.heartbeat({ ...ann, ttlMs: 86_400_000 }),
        'alive',
      );
      assert.deepEqual([beat.ttlMs, beat.remainingMs], [20_000, 20_000]);
    },
  },
  {
    upholds: 'R-1, T-6',
    name: 'a heartbeat from the wrong owner is refused and changes nothing',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(1_000);
      const forged = { id: ann.id, owner: ownerOf('mallory') };
      await expectUnchanged(store, 'session-not-yours', () => store.sessions.heartbeat(forged));
    },
  },
  {
    upholds: 'R-1',
    name: 'a heartbeat of a session that was never opened is refused and opens none',
    async run({ store }) {
      const ghost = { id: sessionIdOf('ghost'), owner: ownerOf('ghost') };
      await expectUnchanged(store, 'session-unknown', () => store.sessions.heartbeat(ghost));
    },
  },
  {
    upholds: 'R-1, S-3, G-3',
    name: 'a heartbeat after the expiry is a rejoin while the session has not ended, and its terms continue',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await advance(TTL_MS + 60_000);
      const late = expectKind(await store.sessions.heartbeat(ann), 'alive');
      assert.deepEqual([late.rejoined, late.remainingMs], [true, TTL_MS]);
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'R-1, R-2',
    name: 'a heartbeat after the expiry may ask for another ttl',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(TTL_MS);
      const late = await store.sessions.heartbeat({ ...ann, ttlMs: 60_000 });
      assert.equal(expectKind(late, 'alive').remainingMs, 60_000);
    },
  },
  {
    upholds: 'R-1, E-2',
    name: 'when a late heartbeat and a takeover follow each other, the first one wins',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob', { ttlMs: 600_000 });
      await mustAcquire(store, ann);
      await advance(TTL_MS);
      await mustBeat(store, ann);
      expectRefusal(await store.leases.acquire(acquiring(bob)), 'held');
      await advance(TTL_MS);
      await mustAcquire(store, bob);
      await expectUnchanged(store, 'session-expired', () => store.sessions.heartbeat(ann));
    },
  },
  {
    upholds: 'R-1',
    name: 'a heartbeat after the end of its session is refused, and the reason tells expired from ended',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob', { ttlMs: 60_000 });
      await advance(10_000);
      await store.sessions.sweep({ limit: 10 });
      await expectUnchanged(store, 'session-expired', () => store.sessions.heartbeat(ann));
      const by = { kind: 'owner', owner: bob.owner, exit: 'yielded' } as const;
      await store.sessions.end({ id: bob.id, by });
      assert.deepEqual(await store.sessions.heartbeat(bob), {
        kind: 'refused',
        why: 'session-ended',
        session: bob.id,
        exit: 'yielded',
      });
    },
  },
  {
    upholds: 'G-3',
    name: 'up to the lapse a heartbeat is a plain one, from the lapse on it is a rejoin',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(7_999);
      assert.equal(expectKind(await store.sessions.heartbeat(ann), 'alive').rejoined, false);
      await advance(8_000);
      assert.equal(expectKind(await store.sessions.heartbeat(ann), 'alive').rejoined, true);
      await advance(1);
      assert.equal(expectKind(await store.sessions.heartbeat(ann), 'alive').rejoined, false);
    },
  },
  {
    upholds: 'G-3',
    name: 'a session that beats one millisecond before expiry rejoins, keeps its leases and fences, and has an event',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { fence, key } = await mustAcquire(store, ann);
      await advance(9_999);
      const beat = expectKind(await store.sessions.heartbeat(ann), 'alive');
      assert.deepEqual([beat.rejoined, beat.authorityMs], [true, 8_000]);
      assert.deepEqual(await store.leases.verify({ key, fence }), {
        kind: 'current',
        authorityMs: 8_000,
      });
      const [last] = (await allEvents(store)).slice(-1);
      assert.deepEqual(
        [last?.kind, last !== undefined && 'session' in last && last.session],
        ['session-rejoined', ann.id],
      );
    },
  },
  {
    upholds: 'S-1, T-5',
    name: 'one heartbeat renews every lease of the session and changes none of their records',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const keys = Array.from({ length: 25 }, (_, number) => keyOf(`part ${number}`));
      for (const key of keys) await mustAcquire(store, ann, { key });
      const before = await Promise.all(keys.map((key) => store.leases.inspect(key)));
      await advance(7_000);
      await mustBeat(store, ann);
      await advance(7_000);
      const after = await Promise.all(keys.map((key) => store.leases.inspect(key)));
      assert.ok(after.every((each) => each.state === 'held' && each.freeInMs === 3_000));
      assert.deepEqual(
        after.map((each) => each.record),
        before.map((each) => each.record),
      );
    },
  },
  {
    upholds: 'V-1, S-2',
    name: 'heartbeats count the notices: a drain and a revoke each raise the number by one',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann);
      const second = await mustAcquire(store, ann, { key: OTHER_KEY });
      const notices = async (): Promise<number> =>
        expectKind(await store.sessions.heartbeat(ann), 'alive').notices;
      assert.equal(await notices(), 0);
      await store.leases.requestDrain(draining(first));
      assert.equal(await notices(), 1);
      await store.leases.revoke(revoking(second));
      assert.equal(await notices(), 2);
      assert.equal(await notices(), 2);
    },
  },
  {
    upholds: 'R-2, U-2',
    needs: 'two-clients',
    name: 'heartbeats that two clients send at once get equal answers',
    async run({ store, another, advance }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      await advance(4_000);
      const beats = await Promise.all(
        [store, other, store, other].map((client) => client.sessions.heartbeat(ann)),
      );
      for (const beat of beats) assert.equal(expectKind(beat, 'alive').remainingMs, 10_000);
    },
  },
];
