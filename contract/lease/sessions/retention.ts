import assert from 'node:assert/strict';
import type { EndSession } from '../../../src/lease/port.ts';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectUnchanged } from '../expect.ts';
import {
  KEY,
  keyOf,
  mustAcquire,
  mustRelease,
  mustSave,
  type OpenedSession,
  OTHER_KEY,
  openedSession,
  saving,
} from '../opened-session.ts';

/** Half an hour. The sessions of these cases live longer than that. */
const RETENTION_MS = 1_800_000;
const policy = { retentionMs: RETENTION_MS };
const long = { ttlMs: 86_400_000, graceMs: 0 };

function ending(who: OpenedSession): EndSession {
  return { id: who.id, by: { kind: 'owner', owner: who.owner, exit: 'finished' } };
}

export const retentionCases: readonly ContractCase[] = [
  {
    upholds: 'L-6',
    policy,
    name: 'a retired key is kept for the retention time to the millisecond, then a sweep deletes it',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      await mustRelease(store, (await mustAcquire(store, ann)).tenure, 'retired');
      await advance(RETENTION_MS - 1);
      await store.sessions.sweep({ limit: 100 });
      assert.equal((await store.leases.inspect(KEY)).state, 'retired');
      await advance(1);
      assert.ok((await store.sessions.sweep({ limit: 100 })).deleted > 0);
      assert.deepEqual(await store.leases.inspect(KEY), {
        key: KEY,
        state: 'free',
        freeInMs: 0,
        waiting: 0,
      });
    },
  },
  {
    upholds: 'T-3, L-6',
    policy,
    name: 'the key of a deleted record starts afresh with a higher fence, and its old fence is refused',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      const old = await mustAcquire(store, ann);
      await mustSave(store, old.tenure, 7);
      await mustRelease(store, old.tenure, 'retired');
      await advance(RETENTION_MS);
      await store.sessions.sweep({ limit: 100 });
      const { leases } = store;
      expectKind(await leases.checkpoint(saving(old.tenure, 8)), 'refused');
      const fresh = await mustAcquire(store, ann);
      assert.ok(fresh.fence > old.fence);
      assert.deepEqual(
        [fresh.predecessor, fresh.checkpoint, fresh.intents],
        [{ exit: 'none' }, undefined, []],
      );
      assert.equal((await leases.verify(old)).kind, 'refused');
    },
  },
  {
    upholds: 'L-6',
    policy,
    name: 'a key that ended in any other way keeps its checkpoint and its exit for ever',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      for (const exit of ['finished', 'yielded', 'abandoned', 'failed'] as const) {
        const { tenure } = await mustAcquire(store, ann, { key: keyOf(exit) });
        await mustSave(store, tenure, 1);
        await mustRelease(store, tenure, exit);
      }
      await advance(10 * RETENTION_MS);
      await store.sessions.sweep({ limit: 100 });
      for (const exit of ['finished', 'yielded', 'abandoned', 'failed'] as const) {
        const grant = await mustAcquire(store, ann, { key: keyOf(exit) });
        assert.deepEqual([grant.predecessor.exit, grant.checkpoint?.seq], [exit, 1]);
      }
    },
  },
  {
    upholds: 'L-6, S-4',
    policy,
    name: 'an ended session is kept for the retention time to the millisecond, then deleted',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await store.sessions.end(ending(ann));
      await advance(RETENTION_MS - 1);
      await store.sessions.sweep({ limit: 100 });
      assert.equal((await store.sessions.inspect(ann.id))?.state, 'ended');
      await advance(1);
      await store.sessions.sweep({ limit: 100 });
      assert.equal(await store.sessions.inspect(ann.id), undefined);
      await expectUnchanged(store, 'session-unknown', () => store.sessions.heartbeat(ann));
    },
  },
  {
    upholds: 'L-6, E-4',
    policy,
    name: 'a sweep deletes no more than its limit at a time, and finishes over several calls',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      const keys = Array.from({ length: 4 }, (_, number) => keyOf(`part ${number}`));
      for (const key of keys) {
        await mustRelease(store, (await mustAcquire(store, ann, { key })).tenure, 'retired');
      }
      await advance(RETENTION_MS);
      let deleted = 1;
      for (let sweeps = 0; deleted > 0; sweeps += 1) {
        assert.ok(sweeps < 100, 'there must be an end to it');
        ({ deleted } = await store.sessions.sweep({ limit: 1 }));
        assert.ok(deleted <= 1);
      }
      for (const key of keys) assert.equal((await store.leases.inspect(key)).state, 'free');
    },
  },
  {
    upholds: 'H-1, L-6',
    policy,
    name: 'an ended parent is kept as long as its child, so that the child stays ended',
    async run({ store, advance }) {
      const parent = await openedSession(store, 'parent', long);
      const child = await openedSession(store, 'child', { ...long, parent: parent.id });
      await store.sessions.end(ending(parent));
      await advance(2 * RETENTION_MS);
      await store.sessions.sweep({ limit: 100 });
      const refused = expectKind(await store.sessions.heartbeat(child), 'refused');
      assert.equal(refused.why, 'session-ended');
    },
  },
  {
    upholds: 'E-3, L-6',
    policy,
    name: 'the leases of a deleted session stay free, with their exit',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob', long);
      await mustAcquire(store, ann);
      await mustAcquire(store, ann, { key: OTHER_KEY });
      await store.sessions.end(ending(ann));
      await advance(RETENTION_MS);
      for (let more = true; more; ) more = (await store.sessions.sweep({ limit: 1 })).more;
      await store.sessions.sweep({ limit: 100 });
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'finished');
      const other = await mustAcquire(store, bob, { key: OTHER_KEY });
      assert.equal(other.predecessor.exit, 'finished');
    },
  },
  {
    upholds: 'O-1',
    policy,
    name: 'a reader behind deleted events gets truncated, with the oldest event to continue from',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      await mustRelease(store, (await mustAcquire(store, ann)).tenure);
      await advance(RETENTION_MS);
      await store.sessions.sweep({ limit: 100 });
      const behind = await store.leases.events({ after: 0, limit: 10 });
      const { oldest } = expectKind(behind, 'truncated');
      const bob = await openedSession(store, 'bob', long);
      const page = expectKind(await store.leases.events({ after: oldest, limit: 10 }), 'events');
      assert.deepEqual(
        page.events.map((event) => event.kind),
        ['session-opened'],
      );
      assert.ok(page.events.every((event) => 'session' in event && event.session === bob.id));
    },
  },
];
