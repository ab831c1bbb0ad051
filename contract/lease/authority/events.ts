import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { allEvents, expectKind } from '../expect.ts';
import {
  acquiring,
  beginning,
  draining,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  OTHER_KEY,
  openedSession,
  saving,
  several,
} from '../opened-session.ts';

export const eventCases: readonly ContractCase[] = [
  {
    upholds: 'O-1',
    name: 'the events of a term are in order, with fence, session, owner, exit and cause',
    async run({ store, advance, now }) {
      const startedAt = now();
      const ann = await openedSession(store, 'ann');
      const { tenure, fence } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining(tenure));
      await advance(1_000);
      await store.leases.release({ ...tenure, exit: 'yielded', cause: 'asked to' });
      const by = { kind: 'owner', owner: ann.owner, exit: 'finished' } as const;
      await store.sessions.end({ id: ann.id, by });
      const events = await allEvents(store);
      assert.deepEqual(
        events.map(({ kind, at }) => [kind, at - startedAt]),
        [
          ['session-opened', 0],
          ['acquired', 0],
          ['drain-requested', 0],
          ['ended', 1_000],
          ['session-ended', 1_000],
        ],
      );
      const [ended] = events.slice(3);
      assert(ended?.kind === 'ended');
      assert.deepEqual(
        [ended.key, ended.fence, ended.session, ended.owner, ended.exit, ended.cause],
        [KEY, fence, ann.id, ann.owner, 'yielded', 'asked to'],
      );
      const revs = events.flatMap((event) => ('rev' in event ? [event.rev] : []));
      assert.deepEqual(
        revs,
        [...revs].sort((a, b) => a - b),
      );
    },
  },
  {
    upholds: 'O-1',
    name: 'events are read page by page, and a reader that continues misses none and sees none twice',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      for (let number = 0; number < 5; number += 1) {
        await mustRelease(store, (await mustAcquire(store, ann)).tenure);
      }
      const full = await allEvents(store);
      assert.equal(full.length, 11);
      const read: unknown[] = [];
      for (let after = 0; read.length < full.length; ) {
        const page = expectKind(await store.leases.events({ after, limit: 3 }), 'events');
        assert.ok(page.events.length > 0 && page.events.length <= 3);
        assert.equal(page.next, page.events.at(-1)?.seq);
        read.push(...page.events);
        after = page.next;
      }
      assert.deepEqual(read, full);
      const seqs = full.map(({ seq }) => seq);
      assert.deepEqual(
        seqs,
        [...new Set(seqs)].sort((a, b) => a - b),
      );
    },
  },
  {
    upholds: 'O-1',
    name: 'a reader that has seen all events stays where it is until a new one comes',
    async run({ store }) {
      await openedSession(store, 'ann');
      const after = (await allEvents(store)).at(-1)?.seq;
      assert(after !== undefined);
      const nothing = await store.leases.events({ after, limit: 10 });
      assert.deepEqual(nothing, { kind: 'events', events: [], next: after });
      await openedSession(store, 'bob');
      const page = expectKind(await store.leases.events({ after, limit: 10 }), 'events');
      assert.equal(page.events.length, 1);
    },
  },
  {
    upholds: 'O-1',
    name: 'a new store has no events and its readers are not behind',
    async run({ store }) {
      const page = await store.leases.events({ after: 0, limit: 10 });
      assert.deepEqual(page, { kind: 'events', events: [], next: 0 });
    },
  },
  {
    upholds: 'O-1',
    name: 'heartbeats, checkpoints, intents, waiting and refusals are not events',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const { tenure } = await mustAcquire(store, ann);
      const before = await allEvents(store);
      await advance(1_000);
      await mustBeat(store, ann);
      await mustSave(store, tenure, 1);
      await store.leases.beginIntent(beginning(tenure, 'pay'));
      await store.leases.settleIntent(beginning(tenure, 'pay'));
      await store.leases.acquire(acquiring(bob));
      await store.leases.acquire(acquiring(bob, { wait: true }));
      await store.leases.checkpoint(saving({ ...tenure, session: bob.id }, 2));
      await store.sessions.recover({ cause: 'nothing was wrong' });
      await store.sessions.sweep({ limit: 10 });
      assert.deepEqual(await allEvents(store), before);
    },
  },
  {
    upholds: 'O-1, E-3',
    needs: 'two-clients',
    name: 'when grants and ends of one key race, they alternate in the events',
    async run({ store, another }) {
      const other = await another();
      const people = await several(store, 'racer', { count: 6 });
      const keys = [KEY, OTHER_KEY, keyOf('orders/19')];
      for (let round = 0; round < 4; round += 1) {
        await Promise.all(
          people.map(async (who, lane) => {
            const client = lane % 2 === 0 ? store : other;
            const key = keys[(lane + round) % keys.length] ?? KEY;
            const result = await client.leases.acquire(acquiring(who, { key }));
            if (result.kind !== 'granted') return;
            await client.leases.release({ ...result, session: who.id, exit: 'yielded' });
          }),
        );
      }
      const events = await allEvents(other);
      for (const key of keys) {
        const story = events.filter((event) => 'key' in event && event.key === key);
        const kinds = story.map(({ kind }) => kind);
        assert.deepEqual(
          kinds,
          kinds.map((_, index) => (index % 2 === 0 ? 'acquired' : 'ended')),
        );
        const fences = story.map((event) => ('fence' in event ? event.fence : 0));
        assert.deepEqual(
          fences,
          [...fences].sort((a, b) => a - b),
        );
      }
    },
  },
];
