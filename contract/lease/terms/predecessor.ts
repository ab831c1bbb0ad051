import assert from 'node:assert/strict';
import { DECLARED_EXITS } from '../../../src/lease/exit.ts';
import type { EndSession } from '../../../src/lease/port.ts';
import type { ContractCase } from '../contract-case.ts';
import { expectKind } from '../expect.ts';
import {
  draining,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  type OpenedSession,
  openedSession,
  revoking,
} from '../opened-session.ts';

const long = { ttlMs: 600_000, graceMs: 0 };

function finishing(who: OpenedSession): EndSession {
  return { id: who.id, by: { kind: 'owner', owner: who.owner, exit: 'finished' } };
}

export const predecessorCases: readonly ContractCase[] = [
  {
    upholds: 'A-2, L-1',
    name: 'every exit that a holder declares reaches its successor, with owner, fence, time and cause',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann', long);
      for (const exit of DECLARED_EXITS) {
        const { tenure, fence } = await mustAcquire(store, ann, { key: keyOf(exit) });
        await advance(10);
        const endedAt = now();
        expectKind(
          await store.leases.release({ ...tenure, exit, cause: `why ${exit}` }),
          'released',
        );
        await advance(10);
        const next = await mustAcquire(store, ann, { key: keyOf(exit), reopen: true });
        assert.deepEqual(next.predecessor, {
          exit,
          owner: ann.owner,
          fence,
          endedAt,
          cause: `why ${exit}`,
        });
      }
    },
  },
  {
    upholds: 'A-2, V-3',
    name: 'the successor of a revoked term gets the operator and the reason',
    async run({ store, now }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const { fence, key } = await mustAcquire(store, ann);
      expectKind(await store.leases.revoke(revoking({ key, fence })), 'revoked');
      assert.deepEqual((await mustAcquire(store, bob)).predecessor, {
        exit: 'revoked',
        owner: ann.owner,
        fence,
        endedAt: now(),
        cause: 'stuck',
        actor: 'olga',
      });
    },
  },
  {
    upholds: 'A-2',
    name: 'the predecessor is the last holder, not an earlier one',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      const bob = await openedSession(store, 'bob');
      await mustRelease(store, (await mustAcquire(store, ann)).tenure, 'finished');
      await mustAcquire(store, bob);
      await advance(10_000);
      const cid = await openedSession(store, 'cid');
      const third = await mustAcquire(store, cid);
      assert.deepEqual([third.predecessor.owner, third.predecessor.exit], [bob.owner, 'expired']);
      await mustRelease(store, third.tenure, 'yielded');
      const fourth = await mustAcquire(store, ann);
      assert.deepEqual([fourth.predecessor.owner, fourth.predecessor.exit], [cid.owner, 'yielded']);
    },
  },
  {
    upholds: 'A-2',
    name: 'an owner that follows itself gets its own earlier term as predecessor',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann);
      await mustRelease(store, first.tenure, 'failed');
      const second = await mustAcquire(store, ann);
      assert.deepEqual(
        [second.predecessor.owner, second.predecessor.fence, second.predecessor.exit],
        [ann.owner, first.fence, 'failed'],
      );
    },
  },
  {
    upholds: 'A-2',
    name: 'the predecessor stays in the record for as long as the term lasts',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustRelease(store, (await mustAcquire(store, ann)).tenure, 'abandoned');
      const { tenure, predecessor } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 1);
      await advance(5_000);
      await mustBeat(store, ann);
      assert.deepEqual((await store.leases.inspect(KEY)).record?.predecessor, predecessor);
    },
  },
  {
    upholds: 'A-2, V-2',
    name: 'the exit of a term does not change when a drain deadline passes after its session ended',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann');
      const { key, fence } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining({ key, fence }, { deadlineMs: 20_000 }));
      await advance(1_000);
      const endedAt = now();
      expectKind(await store.sessions.end(finishing(ann)), 'ended');
      await advance(30_000);
      const bob = await openedSession(store, 'bob');
      const { predecessor } = await mustAcquire(store, bob);
      assert.deepEqual([predecessor.exit, predecessor.endedAt], ['finished', endedAt]);
    },
  },
  {
    upholds: 'V-2, A-2',
    name: 'a session that ends at the millisecond of a drain deadline is too late to yield',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining(held, { deadlineMs: 12_000 }));
      await advance(7_000);
      await mustBeat(store, ann);
      await advance(5_000);
      expectKind(await store.sessions.end(finishing(ann)), 'ended');
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'revoked');
    },
  },
  {
    upholds: 'A-2, R-6',
    name: 'if a term has a maximum tenure and a drain deadline, the one that passes first ends it',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      const first = await mustAcquire(store, ann, { tenureMsMax: 700_000 });
      await store.leases.requestDrain(draining(first, { deadlineMs: 650_000 }));
      const key = keyOf('the other way round');
      const second = await mustAcquire(store, ann, { key, tenureMsMax: 500_000 });
      await store.leases.requestDrain(draining(second, { deadlineMs: 650_000 }));
      await advance(590_000);
      await mustBeat(store, ann);
      await advance(210_000);
      const [drained, overstayed] = [
        await mustAcquire(store, ann),
        await mustAcquire(store, ann, { key }),
      ];
      assert.equal(drained.predecessor.cause, 'drain deadline passed');
      assert.equal(overstayed.predecessor.cause, 'hard deadline passed');
    },
  },
  {
    upholds: 'K-5',
    policy: { flapUnitMs: 0 },
    name: 'losses since the last checkpoint are counted: only expiries count, and a checkpoint resets them',
    async run({ store, advance }) {
      const lose = async (name: string): Promise<number> => {
        const { lossesSinceCheckpoint } = await mustAcquire(
          store,
          await openedSession(store, name),
        );
        await advance(10_000);
        return lossesSinceCheckpoint;
      };
      assert.deepEqual([await lose('one'), await lose('two'), await lose('three')], [0, 1, 2]);
      const ann = await openedSession(store, 'ann', long);
      const fourth = await mustAcquire(store, ann);
      assert.equal(fourth.lossesSinceCheckpoint, 3);
      await mustRelease(store, fourth.tenure, 'failed');
      const fifth = await mustAcquire(store, ann);
      assert.equal(fifth.lossesSinceCheckpoint, 3);
      await mustSave(store, fifth.tenure, 1);
      await mustRelease(store, fifth.tenure, 'yielded');
      assert.equal((await mustAcquire(store, ann)).lossesSinceCheckpoint, 0);
    },
  },
];
