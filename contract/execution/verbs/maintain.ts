import assert from 'node:assert/strict';
import type { ExecutionId, ProjectName } from '../../../src/execution/names.ts';
import { PROJECT_METADATA } from '../../../src/lease/session.ts';
import type { CoordinatorStore, Maintained } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  childOf,
  claimAll,
  commanding,
  type Held,
  heldOf,
  kindsOf,
  later,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustSubmit,
  noticesOf,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  running,
  signalling,
  statusOf,
  worker,
  writing,
} from '../worker.ts';

/** Calls `maintain` until there is no more. */
async function maintainAll(store: CoordinatorStore, limit: number): Promise<readonly Maintained[]> {
  const calls: Maintained[] = [];
  do {
    calls.push(await store.executions.maintain({ limit }));
    assert.ok(calls.length < 100, 'X-20: `more` does not end');
  } while (calls.at(-1)?.more === true);
  return calls;
}

async function spawn(
  store: CoordinatorStore,
  parent: Held,
  count: number,
): Promise<readonly ExecutionId[]> {
  return spawnCalls(
    store,
    parent,
    Array.from({ length: count }, (_, nth) => `child:${nth}#1`),
  );
}

async function spawnCalls(
  store: CoordinatorStore,
  parent: Held,
  calls: readonly string[],
): Promise<readonly ExecutionId[]> {
  const { project } = await mustRead(store, parent.id);
  const children = calls.map((call) => childOf(parent.id, call, { project }));
  expectKind(
    await store.executions.record({ ...writing(parent, { kind: 'child-spawned' }), children }),
    'recorded',
  );
  return children.map(({ id }) => id);
}

export const maintainCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-20',
    name: 'a signal is refused from the millisecond of the deadline on, whatever the execution’s state',
    async run({ store, advance }) {
      const ann = await worker(store);
      const owned = await running(store, ann, { deadlineMs: 1_000 });
      const waiting = await running(store, ann, { deadlineMs: 1_000 });
      await mustPark(store, waiting);
      const queued = await mustSubmit(store, { deadlineMs: 1_000, pipeline: OTHER_PIPELINE });
      const ids = [owned.id, waiting.id, queued];
      await advance(999);
      for (const id of ids) {
        const { kind } = await store.executions.signal(signalling(id));
        assert.equal(kind, id === owned.id ? 'forwarded' : 'done');
      }
      await advance(1);
      for (const id of ids) {
        const signal = () => store.executions.signal(signalling(id));
        const refused = expectKind(await leavesUnchanged(store, signal), 'refused');
        assert.equal(refused.why, 'deadline-passed');
      }
    },
  },
  {
    upholds: 'X-20, X-76',
    name: 'queued and waiting executions fail at the millisecond of their deadline',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const waiting = await running(store, ann, { deadlineMs: 1_000 });
      await mustPark(store, waiting);
      const queued = await mustSubmit(store, { deadlineMs: 1_000 });
      const later = await mustSubmit(store, { deadlineMs: 1_001 });
      await advance(999);
      const early = await leavesUnchanged(store, () => store.executions.maintain({ limit: 10 }));
      assert.deepEqual(early, { overdue: [], cancelled: 0, forgotten: 0, more: false });
      await advance(1);
      const { overdue } = await store.executions.maintain({ limit: 10 });
      assert.deepEqual(overdue.toSorted(), [waiting.id, queued].toSorted());
      assert.equal(await statusOf(store, later), 'queued');
      for (const id of [waiting.id, queued]) {
        const { status, endedAt, seq } = await mustRead(store, id);
        assert.deepEqual([status, endedAt], ['failed', now()]);
        const [event] = await store.executions.history({ id, after: seq - 1, limit: 9 });
        assert.deepEqual([event?.kind, event?.fence], ['failed', undefined]);
        const { failure } = JSON.parse(event?.body ?? '{}');
        assert.deepEqual([failure.category, failure.code], ['permanent', 'deadline-passed']);
        assert.equal(typeof failure.message, 'string');
      }
    },
  },
  {
    upholds: 'X-20',
    name: 'paused, blocked, delayed and held executions fail by their deadline too',
    async run({ store, advance }) {
      const ann = await worker(store);
      const deadline = { deadlineMs: 1_000 };
      const paused = await mustSubmit(store, deadline);
      await store.executions.pause(commanding(paused));
      const delayed = await mustSubmit(store, { ...deadline, delayMs: 5_000 });
      const key = { concurrency: { key: 'k', limit: 1 } };
      await mustClaim(store, ann, await mustSubmit(store, key));
      const behind = await mustSubmit(store, { ...deadline, ...key });
      await advance(1_000);
      const { overdue } = await store.executions.maintain({ limit: 10 });
      assert.deepEqual(overdue.toSorted(), [paused, delayed, behind].toSorted());
    },
  },
  {
    upholds: 'X-20',
    name: 'a running execution past its deadline is left to its owner, and fails once it is let go',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await running(store, ann, { deadlineMs: 1_000 });
      await advance(2_000);
      const first = await leavesUnchanged(store, () => store.executions.maintain({ limit: 10 }));
      assert.deepEqual(first, { overdue: [], cancelled: 0, forgotten: 0, more: false });
      await mustGiveBack(store, held);
      const second = await store.executions.maintain({ limit: 10 });
      assert.deepEqual(second.overdue, [held.id]);
    },
  },
  {
    upholds: 'X-76, X-96',
    name: 'if more deadlines have passed than one call handles, their projects take turns',
    async run({ store, advance }) {
      for (let nth = 0; nth < 12; nth += 1) await mustSubmit(store, { deadlineMs: 100 + nth });
      const other = await mustSubmit(store, { deadlineMs: 500, project: OTHER_PROJECT });
      const idle = { deadlineMs: 2_000, project: 'idle' as ProjectName };
      await mustSubmit(store, idle);
      await advance(1_000);
      const { overdue, more } = await store.executions.maintain({ limit: 4 });
      assert.deepEqual([overdue.length, overdue.includes(other), more], [4, true, true]);
      const rest = await maintainAll(store, 4);
      assert.deepEqual(
        rest.map((each) => each.overdue.length),
        [4, 4, 1],
      );
    },
  },
  {
    upholds: 'X-20',
    name: 'maintenance handles passed deadlines a page at a time',
    async run({ store, advance }) {
      const ids = [];
      for (let nth = 0; nth < 7; nth += 1) ids.push(await mustSubmit(store, { deadlineMs: 10 }));
      await advance(10);
      const calls = await maintainAll(store, 3);
      assert.ok(calls.every(({ overdue }) => overdue.length <= 3));
      assert.equal(calls[0]?.more, true);
      assert.deepEqual(calls.flatMap(({ overdue }) => overdue).toSorted(), ids.toSorted());
    },
  },
  {
    upholds: 'X-77, X-96',
    name: 'if ended parents have more open children than one call handles, their projects take turns',
    async run({ store }) {
      const ann = await worker(store);
      const parents: Held[] = [];
      for (let nth = 0; nth < 3; nth += 1) {
        const parent = await running(store, ann);
        await spawn(store, parent, 6);
        parents.push(parent);
      }
      const other = await running(store, ann, { project: OTHER_PROJECT });
      const theirs = await spawn(store, other, 2);
      for (const parent of [...parents, other]) {
        await mustFinish(store, later(parent), { status: 'failed' });
      }
      // Each parent has an errand, which is more than this call lists.
      const { cancelled, more } = await store.executions.maintain({ limit: 2 });
      const statuses = await Promise.all(theirs.map((id) => statusOf(store, id)));
      assert.deepEqual([cancelled, more, statuses.sort()], [2, true, ['cancelled', 'queued']]);
      const calls = await maintainAll(store, 4);
      assert.equal(
        calls.reduce((sum, each) => sum + each.cancelled, 0),
        18,
      );
    },
  },
  {
    upholds: 'X-96',
    name: 'if more sessions are overdue than one sweep handles, their projects take turns',
    async run({ store, advance }) {
      const of = (project: string) => ({ metadata: { [PROJECT_METADATA]: project } });
      for (let nth = 0; nth < 6; nth += 1) {
        await worker(store, `many-${nth}`, { ttlMs: 1_000 + nth, ...of('many') });
      }
      for (let nth = 0; nth < 6; nth += 1) await worker(store, `steady-${nth}`, of('many'));
      const late = await worker(store, 'late', { ttlMs: 2_000, ...of('few') });
      await advance(4_000);
      const { expired, more } = await store.sessions.sweep({ limit: 2 });
      assert.deepEqual([expired.length, expired.includes(late.id), more], [2, true, true]);
    },
  },
  {
    upholds: 'X-20, X-14, X-17, X-77',
    name: 'open children of an ended parent get one cancel each, a page at a time',
    async run({ store }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const ids = await spawn(store, parent, 7);
      const claims = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      const children = claims.map((each) => heldOf(each, ann));
      const [done, waiting, busy, ...rest] = children;
      assert(done !== undefined && waiting !== undefined && busy !== undefined);
      await mustFinish(store, done);
      await mustPark(store, waiting);
      for (const child of rest) await mustGiveBack(store, child);
      const quiet = await leavesUnchanged(store, () => store.executions.maintain({ limit: 9 }));
      assert.equal(quiet.cancelled, 0);
      const notices = await noticesOf(store, ann);
      await mustFinish(store, later(parent), { status: 'failed' });
      const calls = await maintainAll(store, 2);
      assert.ok(calls.every(({ cancelled }) => cancelled <= 2));
      assert.equal(
        calls.reduce((sum, { cancelled }) => sum + cancelled, 0),
        6,
      );
      for (const id of ids.filter((each) => each !== done.id && each !== busy.id)) {
        assert.equal(await statusOf(store, id), 'cancelled');
        const [event] = await store.executions.history({ id, after: 3, limit: 9 });
        assert.deepEqual(JSON.parse(event?.body ?? '{}'), {
          by: 'holdfast',
          reason: 'parent-ended',
        });
      }
      const messages = await allMessages(store, busy.id);
      assert.deepEqual(
        messages.map(({ kind, body }) => [kind, JSON.parse(body ?? '{}')]),
        [['cancel', { by: 'holdfast', reason: 'parent-ended' }]],
      );
      assert.notEqual(await noticesOf(store, ann), notices);
      const after = await leavesUnchanged(store, () => store.executions.maintain({ limit: 9 }));
      assert.deepEqual(after, { overdue: [], cancelled: 0, forgotten: 0, more: false });
    },
  },
  {
    upholds: 'X-119, X-69, X-77',
    name: 'children of detached calls outlive their parent, and report to it while it is open',
    async run({ store }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const names = ['detached:mail#1[0]', 'child:detached:mail#1[0]', 'detached:mail#2[0]'];
      const [mail, child, last] = await spawnCalls(store, parent, names);
      assert(mail !== undefined && child !== undefined && last !== undefined);
      const claims = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      for (const each of claims) await mustPark(store, heldOf(each, ann));
      assert.equal((await store.executions.cancel(commanding(last))).kind, 'done');
      const messages = await allMessages(store, parent.id);
      assert.deepEqual(
        messages.map(({ kind, name }) => [kind, name]),
        [['child-ended', 'detached:mail#2[0]']],
      );
      await mustFinish(store, later(parent), { status: 'failed' });
      await maintainAll(store, 1);
      assert.deepEqual(
        [await statusOf(store, mail), await statusOf(store, child)],
        ['waiting', 'cancelled'],
      );
    },
  },
  {
    upholds: 'X-20',
    name: 'a cancel reaches all generations of children, however their ancestor ended',
    async run({ store, advance }) {
      const ann = await worker(store);
      const parent = await running(store, ann, { deadlineMs: 1_000 });
      const [child] = await spawn(store, parent, 1);
      assert(child !== undefined);
      const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claimed !== undefined);
      const held = heldOf(claimed, ann);
      const grandchildren = await spawn(store, held, 3);
      await mustPark(store, later(held), { wakeAfter: 3 });
      await mustPark(store, later(parent), { wakeAfter: 1 });
      await advance(1_000);
      await maintainAll(store, 2);
      assert.equal(await statusOf(store, parent.id), 'failed');
      for (const id of [child, ...grandchildren]) {
        assert.equal(await statusOf(store, id), 'cancelled');
      }
      assert.deepEqual(await kindsOf(store, parent.id), [
        'submitted',
        'claimed',
        'child-spawned',
        'parked',
        'failed',
      ]);
    },
  },
  {
    upholds: 'X-20, X-12',
    needs: 'two-clients',
    name: 'several maintenance calls at once end each execution once and send each message once',
    async run({ store, another, advance }) {
      const other = await another();
      const ann = await worker(store);
      const parent = await running(store, ann);
      await spawn(store, parent, 10);
      for (let nth = 0; nth < 10; nth += 1) await mustSubmit(store, { deadlineMs: 10 });
      await mustFinish(store, later(parent));
      await advance(10);
      const calls = (
        await Promise.all([maintainAll(store, 3), maintainAll(other, 3), maintainAll(store, 50)])
      ).flat();
      const overdue = calls.flatMap((call) => call.overdue);
      assert.equal(new Set(overdue).size, overdue.length, 'no execution fails twice');
      await maintainAll(store, 50);
      assert.equal(
        (
          await store.executions.find({
            project: 'default' as never,
            status: ['queued'],
            limit: 50,
          })
        ).ids.length,
        0,
      );
    },
  },
];
