// The index of archived executions (F-6, F-7).

import assert from 'node:assert/strict';
import type { TerminalStatus } from '../../../src/execution/execution.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { ListArchived } from '../../../src/features/retention/port.ts';
import type { CoordinatorStore, Submit } from '../../../src/store/contract/execution-store.ts';
import { toInstant } from '../../../src/support/clock.ts';
import type { ExecutionCase, ExecutionHarness } from '../contract-case.ts';
import { ended } from '../repair/repairing.ts';
import { OTHER_PIPELINE, OTHER_PROJECT, PIPELINE, PROJECT, worker } from '../worker.ts';
import { ARCHIVED, mustRemove } from './keeping.ts';

type Gone = Partial<Submit> & { readonly status?: TerminalStatus };

/** Ends and removes each, one millisecond after the previous one. */
async function archive(
  { store, advance }: Pick<ExecutionHarness, 'store' | 'advance'>,
  all: readonly Gone[],
): Promise<readonly ExecutionId[]> {
  const ann = await worker(store);
  const ids: ExecutionId[] = [];
  for (const each of all) {
    await advance(1);
    const id = await ended(store, ann, { status: 'completed', ...each });
    ids.push(id);
    await mustRemove(store, id, { project: each.project ?? PROJECT, archived: ARCHIVED });
  }
  return ids;
}

async function found(
  store: CoordinatorStore,
  query: Partial<ListArchived> = {},
): Promise<readonly ExecutionId[]> {
  const page = await store.executions.listArchived({ project: PROJECT, limit: 100, ...query });
  return page.map(({ id }) => id);
}

export const archivedCases: readonly ExecutionCase[] = [
  {
    upholds: 'F-6',
    name: 'an archived execution is found from the moment its rows are removed',
    async run({ store, advance }) {
      const labels = { key: 'Order-17', tags: ['vip'], attributes: { size: 3 } };
      const [id] = await archive({ store, advance }, [{ ...labels, status: 'cancelled' }]);
      assert.ok(id !== undefined);
      const known = await store.executions.archived(id);
      assert.ok(known !== undefined);
      const { submittedAt, endedAt, archivedAt, ...rest } = known;
      assert.deepEqual(rest, {
        ...{ id, project: PROJECT, pipeline: PIPELINE, status: 'cancelled' },
        ...{ key: 'Order-17', tags: ['vip'] },
        ...{ place: ARCHIVED.place, digest: ARCHIVED.digest },
      });
      assert.ok(submittedAt <= endedAt && endedAt <= archivedAt);
      assert.deepEqual(await found(store, { words: ['order', '17'] }), [id]);
      const again = { id, project: PROJECT, keepMs: 0, archived: ARCHIVED };
      assert.deepEqual(await store.executions.remove(again), { kind: 'kept', why: 'unknown' });
    },
  },
  {
    upholds: 'F-7',
    name: 'archived executions are listed by end, the last first, with filters',
    async run({ store, advance }) {
      const ids = await archive({ store, advance }, [
        { key: 'order-1', tags: ['a'] },
        { key: 'order-2 Zürich', tags: ['a', 'b'], status: 'failed' },
        { pipeline: PIPELINE, tags: ['b'] },
        { project: OTHER_PROJECT, key: 'order-1', tags: ['a'] },
      ]);
      const [one, two, three] = ids;
      assert.deepEqual(await found(store), [three, two, one]);
      assert.deepEqual(await found(store, { status: 'failed' }), [two]);
      assert.deepEqual(await found(store, { pipeline: PIPELINE }), [three, two, one]);
      assert.deepEqual(await found(store, { pipeline: OTHER_PIPELINE }), []);
      assert.deepEqual(await found(store, { tag: 'a' }), [two, one]);
      assert.deepEqual(await found(store, { tag: 'b', status: 'completed' }), [three]);
      assert.deepEqual(await found(store, { words: ['order'] }), [two, one]);
      assert.deepEqual(await found(store, { words: ['order', 'zürich'] }), [two]);
      assert.deepEqual(await found(store, { words: ['order-1'] }), [one]);
      assert.deepEqual(await found(store, { words: ['order'], tag: 'b' }), [two]);
      assert.deepEqual(await found(store, { words: ['ord'] }), []);
      assert.deepEqual(await found(store, { project: OTHER_PROJECT }), [ids[3]]);
    },
  },
  {
    upholds: 'F-7',
    name: 'archived executions are filtered by a half-open range of times, and pages follow each other',
    async run({ store, advance }) {
      const ids = await archive(
        { store, advance },
        Array.from({ length: 5 }, (_, n) => ({ key: `n ${n}`, tags: ['t'] })),
      );
      const newest = [...ids].reverse();
      const all = await store.executions.listArchived({ project: PROJECT, limit: 10 });
      const second = all[1]?.endedAt ?? toInstant(0);
      assert.deepEqual(await found(store, { from: second }), newest.slice(0, 2));
      assert.deepEqual(await found(store, { to: second }), newest.slice(2));
      const ever = { from: toInstant(0), to: toInstant(2 ** 50) };
      for (const filter of [
        ...[{}, { tag: 't' }, { words: ['n'] }, { words: ['n'], tag: 't' }],
        ...[{ status: 'completed' as const }, ever, { ...ever, tag: 't' }],
      ]) {
        const pages: ExecutionId[] = [];
        for (let before: ListArchived['before']; ; ) {
          const from = before === undefined ? {} : { before };
          const query = { project: PROJECT, limit: 2, ...filter, ...from };
          const page = await store.executions.listArchived(query);
          pages.push(...page.map(({ id }) => id));
          const last = page.at(-1);
          if (last === undefined || page.length < 2) break;
          before = { endedAt: last.endedAt, id: last.id };
        }
        assert.deepEqual(pages, newest, JSON.stringify(filter));
      }
    },
  },
];
