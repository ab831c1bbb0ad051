import assert from 'node:assert/strict';
import type { InteractionId } from '../../../src/execution/names.ts';
import type { DuePlace } from '../../../src/features/awaits/model.ts';
import type { ListDue, ListInteractions } from '../../../src/features/awaits/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { later, mustSubmit, OTHER_PROJECT, PROJECT, running, worker, writing } from '../worker.ts';
import {
  answering,
  answeringEarly,
  interactionId,
  mustOpen,
  OPENED,
  type Opening,
  OTHER_CALL,
  opening,
} from './awaiting.ts';

async function listed(
  store: CoordinatorStore,
  query: Partial<ListInteractions> = {},
): Promise<readonly InteractionId[]> {
  const found = await store.executions.interactions({ project: PROJECT, limit: 100, ...query });
  return found.map(({ interaction }) => interaction.id);
}

const NO_ID = '' as InteractionId;

/** Every page of a list by due time. */
async function due(
  store: CoordinatorStore,
  query: Partial<ListDue> = {},
): Promise<readonly InteractionId[]> {
  const ids: InteractionId[] = [];
  for (let after: DuePlace | undefined; ; ) {
    const { items, next } = await store.executions.dueInteractions({
      ...{ project: PROJECT, limit: 100, ...query },
      ...(after && { after }),
    });
    ids.push(...items.map(({ interaction }) => interaction.id));
    if (next === undefined) return ids;
    after = next;
  }
}

export const listCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-10',
    name: 'interactions are listed newest first by id, a page at a time',
    async run({ store }) {
      const ann = await worker(store);
      const ids: InteractionId[] = [];
      for (let nth = 0; nth < 4; nth += 1) {
        const held = await mustOpen(store, await running(store, ann), { items: 3 });
        ids.push(...[0, 1, 2].map((item) => interactionId(held.id, item)));
      }
      const expected = ids.toReversed();
      assert.deepEqual(await listed(store), expected);
      assert.deepEqual(await listed(store, { limit: 5 }), expected.slice(0, 5));
      const before = expected[4] as InteractionId;
      assert.deepEqual(await listed(store, { limit: 5, before }), expected.slice(5, 10));
      assert.deepEqual(await listed(store, { before: ids[0] as InteractionId }), []);
    },
  },
  {
    upholds: 'W-10, X-21',
    name: 'interactions of another project are neither listed nor found',
    async run({ store }) {
      const ann = await worker(store);
      const own = await mustOpen(store, await running(store, ann));
      const other = await mustOpen(store, await running(store, ann, { project: OTHER_PROJECT }));
      assert.deepEqual(await listed(store), [interactionId(own.id)]);
      const project = OTHER_PROJECT;
      assert.deepEqual(await listed(store, { project }), [interactionId(other.id)]);
      assert.deepEqual(await listed(store, { project, execution: own.id }), []);
      for (const [id, of] of [
        [interactionId(own.id), OTHER_PROJECT],
        [interactionId(other.id), PROJECT],
      ] as const) {
        assert.equal(await store.executions.interaction({ project: of, id }), undefined);
      }
    },
  },
  {
    upholds: 'W-10',
    name: 'interactions are filtered by open or settled, execution, call, assignee and name',
    async run({ store }) {
      const ann = await worker(store);
      const one = await running(store, ann);
      const awaits = [
        opening(one.id, { items: 2, assignee: 'olga' }),
        opening(one.id, { call: OTHER_CALL, name: 'signature' }),
      ];
      await store.executions.record({ ...writing(one, OPENED, OPENED), awaits });
      const two = await mustOpen(store, await running(store, ann), { assignee: 'otto' });
      const early = await mustSubmit(store);
      await store.executions.answer(answeringEarly(early));
      await store.executions.answer(answering(interactionId(one.id, 1)));
      const [a, b, c, d, e] = [
        interactionId(one.id, 0),
        interactionId(one.id, 1),
        interactionId(one.id, 0, OTHER_CALL),
        interactionId(two.id),
        interactionId(early),
      ];
      const expected: readonly (readonly [Partial<ListInteractions>, readonly string[]])[] = [
        [{}, [e, d, c, b, a]],
        [{ open: true }, [d, c, a]],
        [{ open: false }, [e, b]],
        [{ execution: one.id }, [c, b, a]],
        [{ execution: one.id, open: true }, [c, a]],
        [{ execution: one.id, call: OTHER_CALL }, [c]],
        [{ assignee: 'olga' }, [b, a]],
        [{ assignee: 'olga', open: true }, [a]],
        [{ assignee: 'nobody' }, []],
        [{ name: 'approval' }, [d, b, a]],
        [{ name: 'approval', open: true }, [d, a]],
        [{ name: 'signature', assignee: 'olga' }, []],
        [{ name: 'approval', assignee: 'olga', execution: one.id, open: true }, [a]],
        [{ open: true, before: d }, [c, a]],
        [{ open: true, limit: 2 }, [d, c]],
      ];
      for (const [query, ids] of expected) {
        assert.deepEqual(await listed(store, query), ids, JSON.stringify(query));
      }
    },
  },
  {
    upholds: 'W-10',
    name: 'open interactions are listed by due time, those without one last and the oldest first',
    async run({ store }) {
      const ann = await worker(store);
      const open = async (options: Opening = {}): Promise<readonly InteractionId[]> => {
        const { id } = await mustOpen(store, await running(store, ann), options);
        return Array.from({ length: options.items ?? 1 }, (_, item) => interactionId(id, item));
      };
      const [never = NO_ID] = await open();
      const last = await open({ timeoutMs: 9_000, items: 2, assignee: 'olga' });
      const [moved = NO_ID] = await open({ timeoutMs: 1_000, assignee: 'olga' });
      const [alsoNever = NO_ID] = await open({ items: 1, name: 'signature', assignee: 'olga' });
      const [first = NO_ID] = await open({ timeoutMs: 2_000 });
      const same = await open({ timeoutMs: 5_000, items: 3 });
      const [settled = NO_ID] = await open({ timeoutMs: 100 });
      await mustOpen(store, await running(store, ann, { project: OTHER_PROJECT }));
      await store.executions.answer(answeringEarly(await mustSubmit(store)));
      await store.executions.cancelAwait({ project: PROJECT, id: settled });
      await store.executions.answer(answering(same[1] as InteractionId));
      await store.executions.extendAwait({ project: PROJECT, id: moved, dueInMs: 7_000 });
      const [a = NO_ID, , c = NO_ID] = same;
      const expected = [first, a, c, moved, ...last, never, alsoNever];
      for (const limit of [100, 8, 3, 2, 1]) {
        assert.deepEqual(await due(store, { limit }), expected, `pages of ${limit}`);
      }
      const filtered: readonly (readonly [Partial<ListDue>, readonly InteractionId[]])[] = [
        [{ assignee: 'olga' }, [moved, ...last, alsoNever]],
        [{ assignee: 'olga', limit: 1 }, [moved, ...last, alsoNever]],
        [{ name: 'signature' }, [alsoNever]],
        [{ name: 'signature', assignee: 'otto' }, []],
      ];
      for (const [query, ids] of filtered) {
        assert.deepEqual(await due(store, query), ids, JSON.stringify(query));
      }
      const { executions } = store;
      const counts: readonly (readonly [Partial<ListDue>, number])[] = [
        [{}, 8],
        [{ assignee: 'olga' }, 4],
        [{ name: 'approval' }, 7],
        [{ name: 'signature', assignee: 'olga' }, 1],
        [{ name: 'signature', assignee: 'otto' }, 0],
      ];
      for (const [query, count] of counts) {
        const counted = await executions.countInteractions({ project: PROJECT, ...query });
        assert.deepEqual(counted, { count, capped: false }, JSON.stringify(query));
      }
      await executions.extendAwait({ project: PROJECT, id: moved });
      assert.deepEqual(await due(store), [first, a, c, ...last, never, moved, alsoNever]);
    },
  },
  {
    upholds: 'W-10, W-8',
    name: 'lists reflect changed assignees and settled units',
    async run({ store }) {
      const held = await mustOpen(store, await running(store, await worker(store)), { items: 2 });
      const [one, two] = [interactionId(held.id, 0), interactionId(held.id, 1)];
      assert.deepEqual(await listed(store, { assignee: 'olga' }), []);
      await store.executions.assignAwait({ project: PROJECT, id: one, assignee: 'olga' });
      assert.deepEqual(await listed(store, { assignee: 'olga', open: true }), [one]);
      await store.executions.assignAwait({ project: PROJECT, id: one, assignee: 'otto' });
      assert.deepEqual(await listed(store, { assignee: 'olga' }), []);
      await store.executions.cancelAwait({ project: PROJECT, id: two });
      assert.deepEqual(await listed(store, { assignee: 'otto', open: true }), []);
      assert.deepEqual(await listed(store, { assignee: 'otto', open: false }), [one]);
      assert.deepEqual(await listed(store, { open: true, execution: later(held).id }), []);
    },
  },
];
