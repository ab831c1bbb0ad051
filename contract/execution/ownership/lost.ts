// Executions that dead workers leave behind.

import assert from 'node:assert/strict';
import { CLAIM_SCAN_MAX } from '../../../src/execution/decide/suspect.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import type { ExecutionCase, ExecutionHarness } from '../contract-case.ts';
import {
  claimIds,
  claiming,
  claimOnce,
  commanding,
  endSessionOf,
  type Held,
  later,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustRecord,
  mustSubmit,
  PIPELINE,
  PROJECT,
  running,
  signalling,
  step,
  worker,
} from '../worker.ts';

interface Death {
  readonly what: string;
  die(harness: ExecutionHarness, ann: OpenedSession, parent: OpenedSession): Promise<void>;
}

const policy = { retentionMs: 60_000 };
const brief = { ttlMs: 10_000, graceMs: 2_000 };

const deaths: readonly Death[] = [
  { what: 'ended', die: ({ store }, ann) => endSessionOf(store, ann) },
  { what: 'lost its parent', die: ({ store }, _, parent) => endSessionOf(store, parent) },
  {
    what: 'expired',
    async die({ store, advance }) {
      await advance(10_000);
      await store.sessions.sweep({ limit: 100 });
    },
  },
  {
    what: 'ended so long ago that it may be deleted',
    async die({ store, advance }, ann) {
      await endSessionOf(store, ann);
      await advance(600_000);
      await store.sessions.sweep({ limit: 100 });
    },
  },
];

/**
 * A worker claims the execution as soon as it may take a suspect, records `count` events, and dies.
 */
async function loseOne(
  { store, advance }: ExecutionHarness,
  held: Pick<Held, 'id'>,
  { name, count }: { readonly name: string; readonly count: number },
): Promise<number> {
  const who = await worker(store, name);
  await advance(1_000);
  const claimed = await mustClaim(store, who, held.id);
  for (let nth = 0; nth < count; nth += 1) {
    await mustRecord(store, later(claimed, nth), step(`${name} ${nth}`));
  }
  await endSessionOf(store, who);
  return claimed.claimed.execution.claimsWithoutProgress;
}

export const lostCases: readonly ExecutionCase[] = [
  ...deaths.map(
    ({ what, die }): ExecutionCase => ({
      upholds: 'X-7',
      name: `an execution whose session ${what} is claimed by another worker, after its last event`,
      policy,
      async run(harness) {
        const { store } = harness;
        const parent = await worker(store, 'parent');
        const ann = await worker(store, 'ann', { ...brief, parent: parent.id });
        const held = await mustRecord(store, await running(store, ann), step('pay'), step('ship'));
        await die(harness, ann, parent);
        const next = await mustClaim(store, await worker(store, 'bob'), held.id);
        assert.equal(next.claimed.previous, 'lost');
        assert.equal(next.claimed.execution.seq, held.seq);
        assert.ok(next.fence > held.fence);
        await mustFinish(store, next);
      },
    }),
  ),
  {
    upholds: 'X-7, S-3',
    name: 'an execution of a session that is only overdue cannot be claimed by others',
    policy,
    async run({ store, advance }) {
      const ann = await worker(store, 'ann', brief);
      const held = await running(store, ann);
      const bob = await worker(store, 'bob');
      await advance(100_000);
      assert.equal((await store.sessions.inspect(ann.id))?.state, 'overdue');
      assert.deepEqual(await claimIds(store, bob), []);
      await mustRecord(store, held);
      await store.sessions.sweep({ limit: 10 });
      assert.deepEqual(await claimIds(store, bob), [held.id]);
    },
  },
  {
    upholds: 'X-7, X-53',
    name: 'claims that leave no progress are counted in a row',
    async run(harness) {
      const { store, advance } = harness;
      const id = await mustSubmit(store);
      const counts: number[] = [];
      for (const [nth, count] of [0, 0, 0, 2, 0, 1, 0].entries()) {
        counts.push(await loseOne(harness, { id }, { name: `worker ${nth}`, count }));
      }
      assert.deepEqual(counts, [0, 1, 2, 3, 1, 2, 1]);
      const late = await worker(store, 'late');
      await advance(1_000);
      const last = await mustClaim(store, late, id);
      assert.equal(last.claimed.execution.claimsWithoutProgress, 2);
    },
  },
  {
    upholds: 'X-7, X-53',
    name: 'a claim after a park or a give-back is counted from zero',
    async run(harness) {
      const { store, advance } = harness;
      const id = await mustSubmit(store);
      for (const name of ['one', 'two']) await loseOne(harness, { id }, { name, count: 0 });
      const ann = await worker(store, 'ann');
      await advance(1_000);
      const first = await mustClaim(store, ann, id);
      assert.equal(first.claimed.execution.claimsWithoutProgress, 2);
      await mustGiveBack(store, first);
      const second = await mustClaim(store, ann, id);
      assert.equal(second.claimed.execution.claimsWithoutProgress, 0);
      await endSessionOf(store, ann);
      const bob = await worker(store, 'bob');
      const third = await mustClaim(store, bob, id);
      assert.equal(third.claimed.execution.claimsWithoutProgress, 1);
      await mustPark(store, third);
      await store.executions.signal(signalling(id));
      const fourth = await mustClaim(store, bob, id);
      assert.equal(fourth.claimed.execution.claimsWithoutProgress, 0);
      assert.equal(fourth.claimed.previous, 'parked');
    },
  },
  {
    upholds: 'X-7',
    name: 'a lost claim of an execution that was parked before is reported as lost, not as parked',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const held = await running(store, ann);
      await mustPark(store, held, { wakeInMs: 0 });
      await mustClaim(store, ann, held.id);
      await endSessionOf(store, ann);
      const next = await mustClaim(store, await worker(store, 'bob'), held.id);
      assert.equal(next.claimed.previous, 'lost');
    },
  },
  {
    upholds: 'X-7, X-5',
    name: 'messages that arrived under a dead worker are there for the next owner',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const held = await running(store, ann);
      await store.executions.signal(signalling(held.id));
      await store.executions.cancel(commanding(held.id));
      await endSessionOf(store, ann);
      await store.executions.signal(signalling(held.id, 'late'));
      const next = await mustClaim(store, await worker(store, 'bob'), held.id);
      assert.equal(next.claimed.execution.inboxCount, 3);
      const inbox = await store.executions.inbox({ id: held.id, after: 0, limit: 10 });
      assert.deepEqual(
        inbox.map(({ kind }) => kind),
        ['signal', 'cancel', 'signal'],
      );
    },
  },
  {
    upholds: 'X-7, X-11',
    name: 'all executions of a dead worker are claimed once each, over several claims',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const ids = [];
      for (let count = 0; count < 12; count += 1) ids.push(await mustSubmit(store));
      assert.equal((await claimIds(store, ann)).length, 12);
      await endSessionOf(store, ann);
      const bob = await worker(store, 'bob');
      const first = await claimOnce(store, claiming(bob, 5));
      assert.deepEqual([first.claims.length, first.more], [5, true]);
      const claimed = first.claims.map(({ execution }) => execution.id);
      assert.deepEqual([...claimed, ...(await claimIds(store, bob))].toSorted(), ids.toSorted());
      assert.deepEqual(await claimIds(store, bob), []);
      for (const id of ids) assert.equal((await mustRead(store, id)).session, bob.id);
    },
  },
  {
    upholds: 'X-7, X-11',
    name: 'executions of dead workers are claimed before ready ones, even those that waited longer',
    async run({ store, advance }) {
      const ann = await worker(store, 'ann');
      const left = await running(store, ann);
      const first = await mustSubmit(store);
      await advance(10_000);
      const second = await mustSubmit(store);
      await endSessionOf(store, ann);
      const bob = await worker(store, 'bob');
      const claimed: ExecutionId[] = [];
      for (let nth = 0; nth < 3; nth += 1) {
        const { claims } = await claimOnce(store, claiming(bob, 1));
        claimed.push(...claims.map(({ execution }) => execution.id));
      }
      assert.deepEqual(claimed, [left.id, first, second]);
    },
  },
  ...[0, 0.25, 0.5, 0.75, 0.999].map(
    (dice): ExecutionCase => ({
      upholds: 'X-7, X-90',
      name: `a claim with dice ${dice} finds all executions of dead sessions, for one project or for all`,
      async run({ store }) {
        const bob = await worker(store, 'bob');
        for (const [round, options] of [{ dice }, { dice, project: PROJECT }].entries()) {
          const dead: OpenedSession[] = [];
          const left: ExecutionId[] = [];
          for (const name of ['ann', 'cleo', 'dora']) {
            const who = await worker(store, `${name} ${round}`);
            left.push((await running(store, who)).id);
            dead.push(who);
          }
          for (const who of dead) await endSessionOf(store, who);
          const { claims } = await claimOnce(store, claiming(bob, 10, options));
          const ids = claims.map(({ execution }) => execution.id);
          assert.deepEqual(ids.toSorted(), left.toSorted());
        }
      },
    }),
  ),
  {
    upholds: 'X-7, X-90',
    name: 'a claim that took executions and looked at only some dead sessions asks for another claim',
    async run({ store }) {
      const left: ExecutionId[] = [];
      const dead: OpenedSession[] = [];
      for (let nth = 0; nth < CLAIM_SCAN_MAX.sessions + 5; nth += 1) {
        const who = await worker(store, `worker ${nth}`);
        left.push((await running(store, who)).id);
        dead.push(who);
      }
      for (const who of dead) await endSessionOf(store, who);
      const bob = await worker(store, 'bob');
      const first = await claimOnce(store, claiming(bob, 500, { project: PROJECT }));
      assert.deepEqual([first.claims.length, first.more], [CLAIM_SCAN_MAX.sessions, true]);
      const second = await claimOnce(store, claiming(bob, 500, { project: PROJECT }));
      const taken = [...first.claims, ...second.claims].map(({ execution }) => execution.id);
      assert.deepEqual(taken.toSorted(), left.toSorted());
      assert.equal(second.more, false);
    },
  },
  {
    upholds: 'X-11',
    name: 'a claim without shares takes nothing, and reports overdue sessions',
    async run({ store, advance }) {
      const held = await running(store, await worker(store, 'ann', brief));
      const ready = await mustSubmit(store);
      const bob = await worker(store, 'bob');
      const nothing = { session: bob.id, pipelines: [PIPELINE], shares: [] };
      const before = await claimOnce(store, nothing);
      assert.deepEqual([before.claims, before.overdue], [[], false]);
      await advance(10_000);
      const after = await claimOnce(store, nothing);
      assert.deepEqual([after.claims, after.overdue], [[], true]);
      assert.equal((await mustRead(store, held.id)).fence, held.fence);
      assert.equal((await mustRead(store, ready)).status, 'queued');
    },
  },
];
