import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { ListDeadLetters } from '../../../src/features/repair/port.ts';
import type { ListPosition } from '../../../src/store/contract/execution-reads.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { digestOf } from '../../../src/support/digest.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  claimAll,
  commanding,
  finishing,
  heldOf,
  later,
  mustFinish,
  mustPark,
  mustSubmit,
  nextId,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  running,
  worker,
} from '../worker.ts';
import { ended, letter, mustRedrive, redriving } from './repairing.ts';

async function listed(
  store: CoordinatorStore,
  query: Partial<ListDeadLetters> = {},
): Promise<readonly ExecutionId[]> {
  const found = await store.executions.deadLetters({ project: PROJECT, limit: 100, ...query });
  return found.map(({ execution }) => execution);
}

/** Texts that a database cannot store, and their replacements. */
const UNFIT = [
  ['a NUL', 'a\0b\0', 'a\uFFFDb\uFFFD'],
  ['half of a surrogate pair', 'a\uD83Db\uDE00', 'a\uFFFDb\uFFFD'],
  ['a whole surrogate pair', 'a\u{1F600}b', 'a\u{1F600}b'],
] as const;

export const deadLetterCases: readonly ExecutionCase[] = [
  ...(['failed', 'quarantined'] as const).map(
    (status): ExecutionCase => ({
      upholds: 'Y-10, X-14',
      name: `an execution that ends as ${status} writes one dead letter, together with its end`,
      async run({ store, advance, now }) {
        const held = await running(store, await worker(store));
        const deadLetter = letter({ code: 'no-funds' });
        const request = finishing(held, { status, deadLetter });
        assert.equal(await store.executions.deadLetter(held.id), undefined);
        await advance(10);
        const at = now();
        expectKind(await store.executions.finish(request), 'finished');
        const { id: execution } = held;
        assert.deepEqual(await store.executions.deadLetter(execution), {
          ...{ execution, project: PROJECT, pipeline: PIPELINE, status, at },
          ...deadLetter,
        });
        await advance(10);
        const again = await leavesUnchanged(store, () => store.executions.finish(request));
        expectKind(again, 'finished');
      },
    }),
  ),
  {
    upholds: 'Y-10',
    name: 'a dead letter without a step has no step when read',
    async run({ store, now }) {
      const { step: _, ...deadLetter } = letter();
      const execution = await ended(store, await worker(store), { deadLetter });
      assert.deepEqual(await store.executions.deadLetter(execution), {
        ...{ execution, project: PROJECT, pipeline: PIPELINE, status: 'failed', at: now() },
        ...deadLetter,
      });
    },
  },
  {
    upholds: 'Y-10, Y-11',
    name: 'a dead letter cuts a long code and a long step, and the execution ends',
    async run({ store }) {
      const ann = await worker(store);
      // Incompressible text: an index accepts longer text if it can compress it.
      const long = Array.from({ length: 60 }, (_, n) => digestOf(Buffer.from(`${n}`))).join('é');
      for (const concurrency of [undefined, { key: 'one', limit: 1 }]) {
        const deadLetter = letter({ code: long, reason: long, step: long });
        const id = await ended(store, ann, { deadLetter, ...(concurrency && { concurrency }) });
        const { code = '', step = '', reason } = (await store.executions.deadLetter(id)) ?? {};
        assert.equal(reason, long);
        for (const cut of [code, step]) {
          assert.ok(cut.endsWith('…') && long.startsWith(cut.slice(0, -1)), cut);
          assert.ok(Buffer.byteLength(cut) > 250 && Buffer.byteLength(cut) <= 256, cut);
        }
        assert.ok((await listed(store, { code })).includes(id));
      }
    },
  },
  ...UNFIT.map(
    ([what, text, kept]): ExecutionCase => ({
      upholds: 'Y-10, Y-11',
      name: `a dead letter takes any text: with ${what}, the execution still ends`,
      async run({ store }) {
        const ann = await worker(store);
        const deadLetter = letter({ code: text, reason: text, step: text });
        const plain = await ended(store, ann, { deadLetter });
        const concurrency = { key: 'one', limit: 1 };
        const placed = await ended(store, ann, { deadLetter, concurrency });
        for (const id of [plain, placed]) {
          const found = await store.executions.deadLetter(id);
          assert.deepEqual([found?.code, found?.reason, found?.step], [kept, kept, kept]);
        }
        assert.deepEqual(await listed(store, { code: kept }), [placed, plain]);
        const [group] = await store.executions.deadLetterGroups({ project: PROJECT });
        assert.deepEqual([group?.code, group?.step, group?.count], [kept, kept, 2]);
      },
    }),
  ),
  {
    upholds: 'Y-10, X-1',
    name: 'a refused finish writes no dead letter',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const options = { status: 'failed', deadLetter: letter() } as const;
      await expectRefusedUnchanged(store, 'seq-taken', () =>
        store.executions.finish(finishing(later(held, 2), options)),
      );
      assert.equal(await store.executions.deadLetter(held.id), undefined);
    },
  },
  {
    upholds: 'Y-10, X-20',
    name: 'a passed deadline leaves a dead letter for waiting and queued executions',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const waiting = await running(store, ann, { deadlineMs: 1_000 });
      await mustPark(store, waiting);
      const queued = await mustSubmit(store, { deadlineMs: 1_000 });
      await advance(1_000);
      await store.executions.maintain({ limit: 9 });
      for (const id of [waiting.id, queued]) {
        const found = await store.executions.deadLetter(id);
        assert.deepEqual(
          [found?.status, found?.category, found?.code, found?.attempts, found?.step, found?.at],
          ['failed', 'permanent', 'deadline-passed', 0, undefined, now()],
        );
        assert.equal(typeof found?.reason, 'string');
      }
    },
  },
  {
    upholds: 'Y-10',
    name: 'completed, cancelled and compensated executions leave no dead letter',
    async run({ store }) {
      const ann = await worker(store);
      for (const status of ['completed', 'cancelled', 'compensated'] as const) {
        await ended(store, ann, { status });
      }
      const id = await mustSubmit(store);
      await store.executions.cancel(commanding(id));
      assert.deepEqual(await listed(store), []);
      assert.equal(await store.executions.deadLetter(nextId()), undefined);
    },
  },
  {
    upholds: 'Y-10, X-21, Y-12',
    name: 'dead letters are listed newest first, with filters, a page at a time',
    async run({ store }) {
      const ann = await worker(store);
      const a = await ended(store, ann, { deadLetter: letter() });
      const b = await ended(store, ann, { deadLetter: letter({ code: 'timed-out' }) });
      const c = await ended(store, ann, { deadLetter: letter({ step: 'step:ship#1' }) });
      await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claimed !== undefined);
      const d = claimed.execution.id;
      await mustFinish(store, heldOf(claimed, ann), { status: 'failed', deadLetter: letter() });
      const e = await ended(store, ann, { project: OTHER_PROJECT, deadLetter: letter() });
      await mustRedrive(store, b);
      const expected: readonly (readonly [Partial<ListDeadLetters>, readonly ExecutionId[]])[] = [
        [{}, [d, c, b, a]],
        [{ pipeline: PIPELINE }, [c, b, a]],
        [{ pipeline: OTHER_PIPELINE }, [d]],
        [{ code: 'declined' }, [d, c, a]],
        [{ code: 'timed-out' }, [b]],
        [{ step: 'step:ship#1' }, [c]],
        [{ pipeline: PIPELINE, code: 'declined', step: 'step:charge#1' }, [a]],
        [{ open: true }, [d, c, a]],
        [{ open: false }, [b]],
        [{ open: true, pipeline: PIPELINE }, [c, a]],
        [{ limit: 2 }, [d, c]],
        [{ limit: 2, before: c }, [b, a]],
        [{ before: a }, []],
        [{ project: OTHER_PROJECT }, [e]],
      ];
      for (const [query, ids] of expected) {
        assert.deepEqual(await listed(store, query), ids, JSON.stringify(query));
      }
    },
  },
  {
    upholds: 'X-21, Y-10, Y-23',
    name: 'lists as of a time leave out executions and dead letters from after it',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const endsLater = await running(store, ann);
      const failed = await ended(store, ann, { deadLetter: letter() });
      const open = await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      const asOf = now();
      await advance(10);
      await mustFinish(store, endsLater, { status: 'failed', deadLetter: letter() });
      await ended(store, ann, { deadLetter: letter() });
      await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      assert.deepEqual(await listed(store, { asOf }), [failed]);
      assert.deepEqual(await listed(store, { asOf, code: 'declined', open: true }), [failed]);
      for (const [status, id] of [
        ['failed', failed],
        ['queued', open],
      ] as const) {
        // One row per page, so that a row that is left out must not end the list.
        const found: ExecutionId[] = [];
        for (let after: ListPosition | undefined, isMore = true; isMore; ) {
          const query = { project: PROJECT, status: [status], asOf, limit: 1 };
          const page = await store.executions.find({ ...query, ...(after && { after }) });
          found.push(...page.ids);
          after = page.next;
          isMore = after !== undefined;
        }
        assert.deepEqual(found, [id], status);
      }
    },
  },
  {
    upholds: 'Y-10, X-21, Y-12',
    name: 'dead letters are grouped by pipeline, code and step, the largest group first, with the newest time',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const { step: _, ...stepless } = letter({ code: 'deadline-passed' });
      await ended(store, ann, { deadLetter: letter({ step: 'step:ship#1' }) });
      await ended(store, ann, { deadLetter: letter({ step: 'step:ship#1' }) });
      await ended(store, ann, { deadLetter: stepless });
      await advance(10);
      await ended(store, ann, { deadLetter: letter({ reason: 'Other words.' }) });
      const again = await ended(store, ann, { deadLetter: letter({ attempts: 9 }) });
      await ended(store, ann, { deadLetter: letter(), status: 'quarantined' });
      const other = await ended(store, ann, { project: OTHER_PROJECT, deadLetter: letter() });
      assert.ok(other);
      const early = now() - 10;
      const pipeline = PIPELINE;
      assert.deepEqual(await store.executions.deadLetterGroups({ project: PROJECT }), [
        { pipeline, code: 'declined', step: 'step:charge#1', count: 3, at: now() },
        { pipeline, code: 'declined', step: 'step:ship#1', count: 2, at: early },
        { pipeline, code: 'deadline-passed', count: 1, at: early },
      ]);
      expectKind(await store.executions.redrive(redriving(again)), 'submitted');
      const open = await store.executions.deadLetterGroups({ project: PROJECT, open: true });
      assert.deepEqual(
        open.map(({ step, count }) => [step, count]).toSorted(),
        [
          [undefined, 1],
          ['step:charge#1', 2],
          ['step:ship#1', 2],
        ],
        'those that were driven again are left out',
      );
      const others = await store.executions.deadLetterGroups({ project: OTHER_PROJECT });
      assert.deepEqual(
        others.map(({ count }) => count),
        [1],
      );
    },
  },
  {
    upholds: 'Y-10',
    name: 'a reply has at most 1,000 groups, the most frequent ones',
    async run({ store }) {
      const ann = await worker(store);
      const count = 1_002;
      await Promise.all(Array.from({ length: count }, () => mustSubmit(store)));
      const claims = await claimAll(store, ann);
      assert.equal(claims.length, count);
      const steps = claims.map((_, nth) => `step:${nth < 2 ? 'often' : nth}#1`);
      await Promise.all(
        claims.map(async (claimed, nth) => {
          const deadLetter = letter({ step: steps[nth] as string });
          const request = finishing(heldOf(claimed, ann), { status: 'failed', deadLetter });
          expectKind(await store.executions.finish(request), 'finished');
        }),
      );
      const groups = await store.executions.deadLetterGroups({ project: PROJECT });
      assert.equal(groups.length, 1_000);
      assert.deepEqual([groups[0]?.step, groups[0]?.count], ['step:often#1', 2]);
    },
  },
];
