import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectRefusal, expectUnchanged } from '../expect.ts';
import {
  acquiring,
  draining,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustSave,
  OTHER_KEY,
  openedSession,
  ownerOf,
  saving,
  sessionIdOf,
} from '../opened-session.ts';

export const acquireCases: readonly ContractCase[] = [
  {
    upholds: 'A-1, A-2',
    name: 'the first grant of a key returns everything at once: there is nothing to read after it',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann');
      await advance(1_500);
      const result = expectKind(await store.leases.acquire(acquiring(ann)), 'granted');
      assert.deepEqual(result, {
        kind: 'granted',
        replayed: false,
        key: KEY,
        fence: result.fence,
        grantedAt: now(),
        authorityMs: 6_500,
        intents: [],
        predecessor: { exit: 'none' },
        lossesSinceCheckpoint: 0,
      });
    },
  },
  {
    upholds: 'A-1',
    name: 'an acquire of a held key is refused with the real holder and the longest time it can last',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann');
      const { fence } = await mustAcquire(store, ann);
      const since = now();
      await advance(3_000);
      const bob = await openedSession(store, 'bob');
      await expectUnchanged(store, 'held', () => store.leases.acquire(acquiring(bob)));
      assert.deepEqual(await store.leases.acquire(acquiring(bob)), {
        kind: 'refused',
        why: 'held',
        key: KEY,
        holder: { owner: ann.owner, session: ann.id, fence, since, state: 'held', freeInMs: 7_000 },
      });
    },
  },
  {
    upholds: 'A-4',
    name: 'another session of the same owner does not get the key by its owner’s name',
    async run({ store }) {
      const first = await openedSession(store, 'first', { owner: ownerOf('billing') });
      const second = await openedSession(store, 'second', { owner: ownerOf('billing') });
      await mustAcquire(store, first);
      await expectUnchanged(store, 'held', () => store.leases.acquire(acquiring(second)));
    },
  },
  {
    upholds: 'A-4',
    name: 'a session does not get a key it holds a second time with another attempt',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await expectUnchanged(store, 'held', () => store.leases.acquire(acquiring(ann)));
    },
  },
  {
    upholds: 'A-4',
    name: 'a holder whose session lapsed cannot acquire its own key until it rejoins',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await advance(8_000);
      await expectUnchanged(store, 'session-lapsed', () => store.leases.acquire(acquiring(ann)));
      await mustBeat(store, ann);
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'S-1, A-1',
    name: 'a session that is unknown, lapsed, overdue or ended cannot acquire, not even a free key',
    async run({ store, advance }) {
      const ghost = { id: sessionIdOf('ghost'), owner: ownerOf('ghost') };
      const ann = await openedSession(store, 'ann');
      const { leases } = store;
      await expectUnchanged(store, 'session-unknown', () => leases.acquire(acquiring(ghost)));
      await advance(7_999);
      const { tenure } = await mustAcquire(store, ann, { key: OTHER_KEY });
      await leases.release({ ...tenure, exit: 'finished' });
      await advance(1);
      await expectUnchanged(store, 'session-lapsed', () => leases.acquire(acquiring(ann)));
      await advance(2_000);
      await expectUnchanged(store, 'session-expired', () => leases.acquire(acquiring(ann)));
      await store.sessions.sweep({ limit: 10 });
      await expectUnchanged(store, 'session-expired', () => leases.acquire(acquiring(ann)));
    },
  },
  {
    upholds: 'A-8',
    name: 'keys are compared byte by byte: case, spaces, wildcards and quotes are only text',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const names = [
        'a',
        'A',
        ' a',
        'a ',
        'a%',
        'a_',
        'a*',
        "a'; drop table leases; --",
        'a"',
        'a\\',
      ];
      const fences = new Set<number>();
      for (const name of names) {
        fences.add((await mustAcquire(store, ann, { key: keyOf(name) })).fence);
      }
      assert.equal(fences.size, names.length);
      assert.equal((await store.sessions.leases(ann.id)).length, names.length);
    },
  },
  {
    upholds: 'A-8',
    name: 'two spellings of the same text are one key, and any script may be used',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const composed = keyOf('caf\u00e9 \u{1f511} \u65e5\u672c');
      const decomposed = keyOf('cafe\u0301 \u{1f511} \u65e5\u672c');
      const { key } = await mustAcquire(store, ann, { key: composed });
      assert.equal(key, composed);
      expectRefusal(await store.leases.acquire(acquiring(ann, { key: decomposed })), 'held');
    },
  },
  {
    upholds: 'A-8',
    name: 'a key of the maximum length works, and one that differs in its last byte is another',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = keyOf(`${'k'.repeat(511)}1`);
      const second = keyOf(`${'k'.repeat(511)}2`);
      const one = await mustAcquire(store, ann, { key: first });
      const two = await mustAcquire(store, ann, { key: second });
      assert.notEqual(one.fence, two.fence);
      assert.equal((await store.leases.inspect(second)).record?.key, second);
    },
  },
  {
    upholds: 'R-6',
    name: 'a maximum tenure ends the term however often the session is renewed',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann');
      const { tenure, ...grant } = await mustAcquire(store, ann, { tenureMsMax: 15_000 });
      assert.deepEqual([grant.authorityMs, grant.deadlineInMs], [8_000, 15_000]);
      await advance(7_500);
      await mustBeat(store, ann);
      await advance(7_499);
      await mustBeat(store, ann);
      await mustSave(store, tenure, 1);
      await advance(1);
      await expectUnchanged(store, 'ended', () => store.leases.checkpoint(saving(tenure, 2)));
      const bob = await openedSession(store, 'bob');
      const { predecessor } = await mustAcquire(store, bob);
      assert.deepEqual(
        [predecessor.exit, predecessor.endedAt, predecessor.cause],
        ['revoked', now(), 'hard deadline passed'],
      );
      await mustBeat(store, ann);
    },
  },
  {
    upholds: 'R-6',
    name: 'a tenure shorter than the session limits the grant’s authority and the time in refusals',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const grant = await mustAcquire(store, ann, { tenureMsMax: 400 });
      assert.equal(grant.authorityMs, 400);
      const refused = expectKind(await store.leases.acquire(acquiring(bob)), 'refused');
      assert(refused.why === 'held');
      assert.equal(refused.holder.freeInMs, 400);
    },
  },
  {
    upholds: 'A-1',
    name: 'a held key does not keep other sessions from another key',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      await mustAcquire(store, ann);
      const other = await mustAcquire(store, bob, { key: OTHER_KEY });
      assert.equal((await store.leases.verify(other)).kind, 'current');
    },
  },
  {
    upholds: 'A-1, V-1',
    name: 'the refusal of a draining key has the state draining and the latest time it is free',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      await store.leases.requestDrain(draining(await mustAcquire(store, ann)));
      const refused = expectKind(await store.leases.acquire(acquiring(bob)), 'refused');
      assert(refused.why === 'held');
      assert.deepEqual([refused.holder.state, refused.holder.freeInMs], ['draining', 10_000]);
    },
  },
];
