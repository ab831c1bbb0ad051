import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectUnchanged, unchangedBy } from '../expect.ts';
import {
  acquiring,
  attemptOf,
  beginning,
  mustAcquire,
  mustBeat,
  mustSave,
  OTHER_KEY,
  openedSession,
} from '../opened-session.ts';

const attempt = attemptOf('the one whose answer was lost');

export const replayCases: readonly ContractCase[] = [
  {
    upholds: 'A-3, U-2',
    name: 'repeating an acquire with the same attempt returns the same term',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann, { attempt });
      await advance(2_000);
      const { tenure: _, ...expected } = { ...first, replayed: true, authorityMs: 6_000 };
      const again = await unchangedBy(store, () =>
        store.leases.acquire(acquiring(ann, { attempt })),
      );
      assert.deepEqual(again, expected);
    },
  },
  {
    upholds: 'A-3',
    name: 'the repeated answer has the checkpoint and the intents from the meantime',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann, { attempt });
      await mustSave(store, tenure, 1);
      await store.leases.beginIntent(beginning(tenure, 'pay'));
      const again = await mustAcquire(store, ann, { attempt });
      assert.deepEqual([again.replayed, again.checkpoint?.seq, again.intents.length], [true, 1, 1]);
    },
  },
  {
    upholds: 'A-3, T-6',
    name: 'the attempt of one session does not give its term to another session',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      await mustAcquire(store, ann, { attempt });
      await expectUnchanged(store, 'held', () => store.leases.acquire(acquiring(bob, { attempt })));
    },
  },
  {
    upholds: 'A-3',
    name: 'the same attempt on another key is a separate grant',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann, { attempt });
      const second = await mustAcquire(store, ann, { attempt, key: OTHER_KEY });
      assert.equal(second.replayed, false);
      assert.notEqual(second.fence, first.fence);
    },
  },
  {
    upholds: 'A-3, T-7',
    name: 'an attempt whose term was taken over does not return that term',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const cid = await openedSession(store, 'cid', { ttlMs: 60_000 });
      await mustAcquire(store, ann, { attempt });
      await advance(10_000);
      const taken = await mustAcquire(store, cid);
      const again = await openedSession(store, 'ann again', { owner: ann.owner });
      await expectUnchanged(store, 'session-expired', () =>
        store.leases.acquire(acquiring(ann, { attempt })),
      );
      await expectUnchanged(store, 'held', () =>
        store.leases.acquire(acquiring(again, { attempt })),
      );
      assert.equal((await store.leases.verify(taken)).kind, 'current');
    },
  },
  {
    upholds: 'A-3, G-3',
    name: 'after a rejoin the same attempt still returns its term',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann, { attempt });
      await advance(9_000);
      await mustBeat(store, ann);
      const again = await mustAcquire(store, ann, { attempt });
      assert.deepEqual([again.replayed, again.fence], [true, first.fence]);
    },
  },
  {
    upholds: 'A-3, U-2',
    needs: 'two-clients',
    name: 'one attempt sent by two clients at once is one term, with one event',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const results = await Promise.all(
        [store, other, store, other, store, other].map((client) =>
          client.leases.acquire(acquiring(ann, { attempt })),
        ),
      );
      const grants = results.map((result) => expectKind(result, 'granted'));
      assert.equal(new Set(grants.map(({ fence }) => fence)).size, 1);
      assert.equal(grants.filter(({ replayed }) => !replayed).length, 1);
      assert.equal((await eventsOfKind(store, 'acquired')).length, 1);
    },
  },
];
