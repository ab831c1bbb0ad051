import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectWhy, leavesUnchanged } from '../expect.ts';
import {
  commanding,
  mustClaim,
  mustFinish,
  mustPark,
  mustRead,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  running,
  statusOf,
  worker,
} from '../worker.ts';
import { ended, letter, redriving } from './repairing.ts';

/** Returns pairs of target and outcome, by target. */
async function outcomesOf(
  store: CoordinatorStore,
  job: ExecutionId,
): Promise<readonly (readonly [ExecutionId, string])[]> {
  const items = await store.executions.jobItems({ job, limit: 100 });
  return items.map(({ target, outcome }) => [target, outcome]);
}

export const jobCases: readonly ExecutionCase[] = [
  {
    upholds: 'Y-23, Y-20',
    name: 'a job keeps the outcome of a re-drive, and a repeat returns the stored outcome',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const job = nextId();
      const old = await ended(store, ann, { deadLetter: letter() });
      assert.deepEqual(await store.executions.jobItems({ job, limit: 9 }), []);
      const request = redriving(old, { job });
      const made = request.submit.id;
      expectKind(await store.executions.redrive(request), 'submitted');
      const item = { target: old, outcome: 'submitted', made, at: now() };
      const queued = { ...item, madeStatus: 'queued' };
      assert.deepEqual(await store.executions.jobItems({ job, limit: 9 }), [queued]);
      assert.deepEqual(await store.executions.jobResults({ job }), { queued: 1 });
      // A page that runs again creates new ids, but the stored result stays.
      const again = async (madeStatus: string): Promise<void> => {
        await advance(10);
        for (const repeated of [request, redriving(old, { job })]) {
          const result = await leavesUnchanged(store, () => store.executions.redrive(repeated));
          assert.deepEqual(result, { kind: 'submitted', id: made, existing: true });
        }
        const items = await store.executions.jobItems({ job, limit: 9 });
        assert.deepEqual(items, [{ ...item, madeStatus }]);
      };
      await again('queued');
      await mustFinish(store, await mustClaim(store, ann, made), { status: 'failed' });
      await again('failed');
      assert.deepEqual(await store.executions.jobResults({ job }), { failed: 1 });
    },
  },
  {
    upholds: 'Y-23',
    name: 'a job keeps refusals as outcomes, even when the operation would succeed by now',
    async run({ store }) {
      const ann = await worker(store);
      const job = nextId();
      const open = await running(store, ann);
      const busy = await ended(store, ann);
      const unknown = nextId();
      const taken = await ended(store, ann);
      const other = await ended(store, ann, { project: OTHER_PROJECT });
      await store.executions.redrive(redriving(busy));
      const requests = [
        ['not-ended', redriving(open.id, { job })],
        ['redrive-open', redriving(busy, { job })],
        ['id-taken', redriving(taken, { job, submit: { ...redriving(taken).submit, id: busy } })],
        ['execution-unknown', redriving(other, { job })],
        ['execution-unknown', redriving(unknown, { job })],
      ] as const;
      const first = [];
      for (const [why, request] of requests) {
        const result = await store.executions.redrive(request);
        expectWhy(result, why);
        first.push(result);
      }
      const expected = requests.map(([why, { of }]) => [of, why] as const);
      const byTarget = expected.toSorted(([a], [b]) => (a < b ? -1 : 1));
      assert.deepEqual(await outcomesOf(store, job), byTarget);
      await mustFinish(store, open);
      for (const [nth, [, request]] of requests.entries()) {
        const again = await leavesUnchanged(store, () =>
          store.executions.redrive(redriving(request.of, { job })),
        );
        assert.deepEqual(again, first[nth]);
      }
      assert.deepEqual(await outcomesOf(store, job), byTarget);
      // Without the job, this is an ordinary command.
      expectKind(await store.executions.redrive(redriving(open.id)), 'submitted');
    },
  },
  {
    upholds: 'Y-23, X-17',
    name: 'a job keeps the outcomes of cancels, and repeats return them',
    async run({ store, advance }) {
      const ann = await worker(store);
      const job = nextId();
      const over = await ended(store, ann);
      const waiting = await running(store, ann);
      await mustPark(store, waiting);
      const undone = await running(store, ann);
      await mustPark(store, undone, { compensable: true });
      const busy = await running(store, ann);
      const known = await running(store, ann);
      await store.executions.cancel(commanding(known.id));
      const unknown = nextId();
      const expected = [
        [over, 'already-ended'],
        [waiting.id, 'done'],
        [undone.id, 'done'],
        [busy.id, 'forwarded'],
        [known.id, 'no-change'],
        [unknown, 'execution-unknown'],
      ] as const;
      const first = [];
      for (const [id] of expected) {
        first.push(await store.executions.cancel({ ...commanding(id), job }));
      }
      assert.deepEqual(
        await outcomesOf(store, job),
        expected.toSorted(([a], [b]) => (a < b ? -1 : 1)),
      );
      await advance(10);
      await mustFinish(store, busy);
      for (const [nth, [id]] of expected.entries()) {
        const again = await leavesUnchanged(store, () =>
          store.executions.cancel({ ...commanding(id), job }),
        );
        assert.deepEqual(again, first[nth]);
      }
      assert.equal(await statusOf(store, waiting.id), 'cancelled');
      assert.equal((await mustRead(store, undone.id)).compensating, true);
      assert.equal((await allMessages(store, known.id)).length, 1);
    },
  },
  {
    upholds: 'Y-23',
    name: 'jobs do not affect each other',
    async run({ store }) {
      const ann = await worker(store);
      const [one, two] = [nextId(), nextId()];
      const old = await ended(store, ann);
      const first = redriving(old, { job: one });
      expectKind(await store.executions.redrive(first), 'submitted');
      expectWhy(await store.executions.redrive(redriving(old, { job: two })), 'redrive-open');
      await mustFinish(store, await mustClaim(store, ann, first.submit.id));
      const third = redriving(old, { job: nextId() });
      assert.deepEqual(await store.executions.redrive(third), {
        ...{ kind: 'submitted', id: third.submit.id, existing: false },
      });
      assert.deepEqual(await outcomesOf(store, one), [[old, 'submitted']]);
      assert.deepEqual(await outcomesOf(store, two), [[old, 'redrive-open']]);
    },
  },
  {
    upholds: 'Y-23',
    name: 'a re-drive that existed before under the same id is the job’s outcome too',
    async run({ store }) {
      const old = await ended(store, await worker(store));
      const request = redriving(old);
      await store.executions.redrive(request);
      const job = nextId();
      const result = await store.executions.redrive({ ...request, job });
      const { id } = request.submit;
      assert.deepEqual(result, { kind: 'submitted', id, existing: true });
      const [item] = await store.executions.jobItems({ job, limit: 9 });
      assert.deepEqual([item?.outcome, item?.made], ['submitted', id]);
    },
  },
  {
    upholds: 'Y-23',
    name: 'a stored outcome stays, and the job does nothing more for that item',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const job = nextId();
      const [skipped, driven] = [await ended(store, ann), await ended(store, ann)];
      const at = now();
      await store.executions.noteJobItem({ job, target: skipped, outcome: 'not-found' });
      const request = redriving(driven, { job });
      await store.executions.redrive(request);
      await advance(10);
      for (const target of [skipped, driven]) {
        await store.executions.noteJobItem({ job, target, outcome: 'other' });
      }
      const result = await leavesUnchanged(store, () =>
        store.executions.redrive(redriving(skipped, { job })),
      );
      assert.deepEqual(result, { kind: 'refused', why: 'not-found' });
      assert.deepEqual(await store.executions.jobItems({ job, limit: 9 }), [
        { target: skipped, outcome: 'not-found', at },
        {
          ...{ target: driven, outcome: 'submitted', at },
          ...{ made: request.submit.id, madeStatus: 'queued' },
        },
      ]);
    },
  },
  {
    upholds: 'Y-23',
    name: 'the items of a job are listed by target, a page at a time',
    async run({ store }) {
      const job = nextId();
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 7; nth += 1) ids.push(await mustSubmit(store));
      for (const id of ids.toReversed()) {
        await store.executions.cancel({ ...commanding(id), job });
      }
      const found: ExecutionId[] = [];
      for (let after: ExecutionId | undefined; ; ) {
        const cursor = after === undefined ? {} : { after };
        const page = await store.executions.jobItems({ job, limit: 3, ...cursor });
        assert.ok(page.length <= 3);
        found.push(...page.map(({ target }) => target));
        after = page.at(-1)?.target;
        if (after === undefined) break;
      }
      assert.deepEqual(found, ids);
    },
  },
  {
    upholds: 'Y-23, Y-21',
    needs: 'two-clients',
    name: 'a page that two workers process at once has one outcome for each item',
    async run({ store, another }) {
      const stores = [store, await another(), store];
      const ann = await worker(store);
      const job = nextId();
      const targets: ExecutionId[] = [];
      for (let nth = 0; nth < 6; nth += 1) {
        targets.push(await ended(store, ann, { deadLetter: letter() }));
      }
      const pages = await Promise.all(
        stores.map((each) =>
          Promise.all(targets.map((of) => each.executions.redrive(redriving(of, { job })))),
        ),
      );
      const items = await store.executions.jobItems({ job, limit: 99 });
      assert.deepEqual(
        items.map(({ target, outcome }) => [target, outcome]),
        targets.map((target) => [target, 'submitted']),
      );
      for (const [nth, { made }] of items.entries()) {
        const ids = pages.map((page) => {
          const result = page[nth];
          return result?.kind === 'submitted' ? result.id : result?.why;
        });
        assert.deepEqual(ids, [made, made, made]);
        const fresh = pages.filter((page) => {
          const result = page[nth];
          return result?.kind === 'submitted' && !result.existing;
        });
        assert.equal(fresh.length, 1, 'one of them made it');
      }
    },
  },
];
