// One request reads a bounded number of rows of its project, and a list goes on from there.

import assert from 'node:assert/strict';
import { stamp } from '../../../contract/execution/audit/auditing.ts';
import { mustOpen, OTHER_CALL } from '../../../contract/execution/awaits/awaiting.ts';
import { ended, letter } from '../../../contract/execution/repair/repairing.ts';
import {
  claimAll,
  heldOf,
  mustFinish,
  mustSubmit,
  PROJECT,
  running,
  worker,
} from '../../../contract/execution/worker.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import type { InteractionId, PipelineName } from '../../../src/execution/names.ts';
import { interactionPage } from '../../../src/features/awaits/api.ts';
import type { ListInteractions } from '../../../src/features/awaits/port.ts';
import {
  type CoordinatorStore,
  LIST_ROWS_MAX,
} from '../../../src/store/contract/execution-store.ts';
import { COUNTED_PIPELINES_MAX } from '../../../src/store/sql/census.ts';

interface BoundedCase {
  readonly name: string;
  readonly run: (store: CoordinatorStore) => Promise<void>;
}

interface Found {
  readonly items: readonly object[];
  readonly cursor?: string;
}

const times = <Made>(make: (nth: number) => Promise<Made>): Promise<readonly Made[]> =>
  Promise.all(Array.from({ length: LIST_ROWS_MAX }, (_, nth) => make(nth)));

/** The filter matches only the oldest row, after as many as one page checks. */
async function expectOldest(
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Found>,
): Promise<void> {
  const first = await read({ limit: 10 });
  assert.deepEqual(first.items, []);
  assert.ok(first.cursor !== undefined, 'there are older rows');
  const second = await read({ limit: 10, cursor: first.cursor });
  assert.equal(second.items.length, 1);
  assert.equal(second.cursor, undefined);
}

export const BOUNDED_CASES: readonly BoundedCase[] = [
  {
    name: 'Y-12: a page checks 10,000 dead letters, and groups count the newest 10,000',
    async run(store) {
      const project = PROJECT;
      const ann = await worker(store);
      await ended(store, ann, { deadLetter: letter({ step: 'step:old#1', code: 'old' }) });
      await times(() => mustSubmit(store));
      const claims = await claimAll(store, ann);
      await times((nth) => {
        const held = heldOf(claims[nth] as (typeof claims)[number], ann);
        return mustFinish(store, held, { status: 'failed', deadLetter: letter() });
      });
      const { repair } = new Holdfast({ store });
      const old = { project, step: 'step:old#1' };
      await expectOldest((page) => repair.deadLetters({ ...old, ...page }));
      await expectOldest((page) => repair.deadLetters({ ...old, open: true, ...page }));
      await expectOldest((page) => repair.deadLetters({ ...old, pipeline: 'orders', ...page }));
      const found = await repair.deadLetters({ project, code: 'old' });
      assert.equal(found.items.length, 1, 'an index finds the code');
      for (const open of [true, false]) {
        const groups = await repair.deadLetterGroups({ project, open });
        assert.deepEqual(
          groups.map(({ step, count }) => [step, count]),
          [['step:charge#1', LIST_ROWS_MAX]],
        );
      }
    },
  },
  {
    name: 'J-7: a page checks 10,000 records of the audit',
    async run(store) {
      const target = { kind: 'session', id: 'nightly' } as const;
      const record = (actor: string): Promise<void> =>
        store.executions.recordOperation({
          ...{ project: PROJECT, target },
          audit: stamp('end-session', { actor }),
        });
      await record('ada');
      await times(() => record('olga'));
      const { audit } = new Holdfast({ store });
      const filter = { project: PROJECT, target, actor: 'ada' };
      await expectOldest((page) => audit.list({ ...filter, ...page }));
      assert.equal((await audit.list({ project: PROJECT, actor: 'ada' })).items.length, 1);
    },
  },
  {
    name: 'W-10: a page checks 10,000 interactions',
    async run(store) {
      const ann = await worker(store);
      const name = 'signature';
      await mustOpen(store, await running(store, ann), { call: OTHER_CALL, name, assignee: 'ada' });
      await mustOpen(store, await running(store, ann), { items: LIST_ROWS_MAX, assignee: 'olga' });
      const read = (
        query: Partial<ListInteractions>,
        { limit, cursor }: { readonly limit: number; readonly cursor?: string },
      ): Promise<Found> =>
        interactionPage(store.executions, {
          ...{ project: PROJECT, limit, ...query },
          ...(cursor === undefined ? {} : { before: cursor as InteractionId }),
        });
      await expectOldest((page) => read({ name }, page));
      await expectOldest((page) => read({ open: true, call: OTHER_CALL }, page));
      const found = await read({ name, open: true }, { limit: 10 });
      assert.equal(found.items.length, 1, 'an index finds the name');
    },
  },
  {
    name: 'X-41: the depth of a project counts its first 1,000 pipelines',
    async run(store) {
      for (let nth = 0; nth <= COUNTED_PIPELINES_MAX; nth += 1) {
        await mustSubmit(store, { pipeline: `p${String(nth).padStart(4, '0')}` as PipelineName });
      }
      const [interactive] = await store.executions.depth({ max: 10_000, project: PROJECT });
      assert.equal(interactive?.ready, COUNTED_PIPELINES_MAX);
      const [all] = await store.executions.depth({ max: 10_000 });
      assert.equal(all?.ready, COUNTED_PIPELINES_MAX + 1);
    },
  },
];
