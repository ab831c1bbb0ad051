import assert from 'node:assert/strict';
import type { LeaseState } from '../../../src/lease/lease.ts';
import type { ContractCase } from '../contract-case.ts';
import { unchangedBy } from '../expect.ts';
import {
  beginning,
  draining,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  openedSession,
  sessionIdOf,
  several,
} from '../opened-session.ts';

export const inspectCases: readonly ContractCase[] = [
  {
    upholds: 'O-2',
    name: 'a key that was never held is free and has no record',
    async run({ store }) {
      assert.deepEqual(await store.leases.inspect(KEY), {
        key: KEY,
        state: 'free',
        freeInMs: 0,
        waiting: 0,
      });
    },
  },
  {
    upholds: 'O-2, E-1',
    name: 'a lease is shown as held, lapsed and expired at exactly the store’s times',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      const inspectAfter = async (ms: number): Promise<[LeaseState, number]> => {
        await advance(ms);
        const { state, freeInMs } = await store.leases.inspect(KEY);
        return [state, freeInMs];
      };
      assert.deepEqual(await inspectAfter(0), ['held', 10_000]);
      assert.deepEqual(await inspectAfter(7_999), ['held', 2_001]);
      assert.deepEqual(await inspectAfter(1), ['lapsed', 2_000]);
      assert.deepEqual(await inspectAfter(1_999), ['lapsed', 1]);
      assert.deepEqual(await inspectAfter(1), ['expired', 0]);
      await store.sessions.sweep({ limit: 10 });
      assert.deepEqual(await inspectAfter(0), ['free', 0]);
    },
  },
  {
    upholds: 'O-2',
    name: 'a session is shown as alive, lapsed, overdue and ended at exactly the store’s times',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const inspectAfter = async (ms: number): Promise<unknown[]> => {
        await advance(ms);
        const seen = await store.sessions.inspect(ann.id);
        return [seen?.state, seen?.authorityMs, seen?.remainingMs];
      };
      assert.deepEqual(await inspectAfter(7_999), ['alive', 1, 2_001]);
      assert.deepEqual(await inspectAfter(1), ['lapsed', 0, 2_000]);
      assert.deepEqual(await inspectAfter(1_999), ['lapsed', 0, 1]);
      assert.deepEqual(await inspectAfter(1), ['overdue', 0, 0]);
      assert.deepEqual(await inspectAfter(500), ['overdue', 0, 0]);
      await store.sessions.sweep({ limit: 10 });
      assert.equal((await inspectAfter(0))[0], 'ended');
    },
  },
  {
    upholds: 'O-2',
    name: 'a session that was never opened is not found',
    async run({ store }) {
      const ghost = sessionIdOf('ghost');
      assert.equal(await store.sessions.inspect(ghost), undefined);
      assert.deepEqual(await store.sessions.leases(ghost), []);
    },
  },
  {
    upholds: 'O-2, S-1',
    name: 'a session’s record has its owner, when it was opened and its last heartbeat',
    async run({ store, advance, now }) {
      const openedAt = now();
      const ann = await openedSession(store, 'ann');
      await advance(3_000);
      await mustBeat(store, ann);
      const session = (await store.sessions.inspect(ann.id))?.session;
      assert.deepEqual(
        { ...session, metadata: undefined },
        {
          id: ann.id,
          owner: ann.owner,
          path: [ann.id],
          ttlMs: 10_000,
          graceMs: 2_000,
          metadata: undefined,
          openedAt,
          beatAt: now(),
          expiresAt: now() + 10_000,
          extended: false,
          notices: 0,
        },
      );
    },
  },
  {
    upholds: 'O-2',
    name: 'sessions are listed page by page, without ended ones unless requested',
    async run({ store }) {
      const people = await several(store, 'worker', { count: 7 });
      const [gone, ...left] = [...people].sort((a, b) => (a.id < b.id ? -1 : 1));
      assert(gone !== undefined);
      const by = { kind: 'owner', owner: gone.owner, exit: 'finished' } as const;
      await store.sessions.end({ id: gone.id, by });
      const first = await store.sessions.list({ limit: 4 });
      const last = first.at(-1)?.session.id;
      assert(last !== undefined);
      const second = await store.sessions.list({ limit: 4, after: last });
      assert.deepEqual(
        [...first, ...second].map(({ session }) => session.id),
        left.map(({ id }) => id),
      );
      const all = await store.sessions.list({ limit: 100, all: true });
      assert.deepEqual(
        all.map(({ session, state }) => [session.id, state]),
        [[gone.id, 'ended'], ...left.map(({ id }) => [id, 'alive'])],
      );
    },
  },
  {
    upholds: 'O-2, S-2',
    name: 'a session’s leases are listed with deadlines, without released and lost ones',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const plain = await mustAcquire(store, ann, { key: keyOf('a plain') });
      const capped = await mustAcquire(store, ann, { key: keyOf('b capped'), tenureMsMax: 5_000 });
      const drained = await mustAcquire(store, ann, { key: keyOf('c drained') });
      const gone = await mustAcquire(store, ann, { key: keyOf('d gone') });
      await mustAcquire(store, ann, { key: keyOf('e short'), tenureMsMax: 1_000 });
      await mustRelease(store, gone.tenure);
      await store.leases.requestDrain(draining(drained, { deadlineMs: 20_000 }));
      await advance(1_000);
      const carried = [...(await store.sessions.leases(ann.id))];
      assert.deepEqual(
        carried
          .sort((a, b) => a.fence - b.fence)
          .map(({ key, fence, deadlineInMs, drain }) => [key, fence, deadlineInMs, drain?.actor]),
        [
          [plain.key, plain.fence, undefined, undefined],
          [capped.key, capped.fence, 4_000, undefined],
          [drained.key, drained.fence, 19_000, 'olga'],
        ],
      );
    },
  },
  {
    upholds: 'T-5',
    name: 'every change of a record raises its rev, over all terms',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const revs: number[] = [];
      const note = async (): Promise<void> => {
        revs.push((await store.leases.inspect(KEY)).record?.rev ?? 0);
      };
      for (let term = 0; term < 2; term += 1) {
        const { tenure } = await mustAcquire(store, ann);
        await note();
        await mustSave(store, tenure, term + 1);
        await note();
        await store.leases.beginIntent(beginning(tenure, 'pay'));
        await note();
        await store.leases.settleIntent(beginning(tenure, 'pay'));
        await note();
        await store.leases.requestDrain(draining(tenure));
        await note();
        await mustRelease(store, tenure);
        await note();
      }
      assert.deepEqual(
        revs,
        [...new Set(revs)].sort((a, b) => a - b),
      );
      assert.equal(revs.length, 12);
    },
  },
  {
    upholds: 'O-2, T-5',
    name: 'inspecting changes nothing',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await advance(10_001);
      await unchangedBy(store, async () => {
        await store.leases.inspect(KEY);
        await store.sessions.inspect(ann.id);
        await store.sessions.leases(ann.id);
        await store.sessions.list({ limit: 1 });
        await store.leases.events({ after: 0, limit: 1 });
      });
    },
  },
];
