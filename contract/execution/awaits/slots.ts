// Questions with a concurrency key: at most so many are open at once, and the others wait in order
// (W-17).

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  finishing,
  type Held,
  OTHER_PROJECT,
  PROJECT,
  running,
  worker,
  writing,
} from '../worker.ts';
import {
  answering,
  answeringEarly,
  CALL,
  interactionId,
  mustFind,
  mustOpen,
  OPENED,
  type Opening,
  OTHER_CALL,
  opening,
  parkedOn,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

const limited = (limit: number) => ({ concurrency: { key: 'bank', limit } });

type Who = Pick<OpenedSession, 'id'>;

/** Opens one await of as many executions, one after the other. */
async function asking(
  { store, advance }: Parameters<ExecutionCase['run']>[0],
  who: Who,
  { count, ...options }: Opening & { readonly count: number },
): Promise<readonly Held[]> {
  const asked: Held[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    asked.push(await mustOpen(store, await running(store, who), options));
    await advance(1);
  }
  return asked;
}

/** The status of the first question of each execution. */
async function firstStates(
  store: CoordinatorStore,
  asked: readonly { readonly id: ExecutionId }[],
): Promise<readonly string[]> {
  const found = await Promise.all(asked.map(({ id }) => mustFind(store, interactionId(id))));
  return found.map(({ interaction }) => interaction.status);
}

function finish({ executions }: CoordinatorStore, held: Held): Promise<unknown> {
  return executions.finish(finishing(held, { leavesAwaits: true }));
}

interface End {
  readonly how: string;
  end(given: Parameters<ExecutionCase['run']>[0], held: Held): Promise<unknown>;
}

/** Each way in which a question stops being open. */
const ENDS: readonly End[] = [
  {
    how: 'is answered',
    end: ({ store }, { id }) => store.executions.answer(answering(interactionId(id))),
  },
  {
    how: 'is cancelled',
    end: ({ store }, { id }) =>
      store.executions.cancelAwait({ project: PROJECT, id: interactionId(id) }),
  },
  {
    how: 'times out',
    async end({ store, advance }, { id }) {
      await store.executions.extendAwait({
        ...{ project: PROJECT, id: interactionId(id), dueInMs: 50 },
      });
      await advance(50);
      await store.executions.expireAwaits({ limit: 9 });
    },
  },
  {
    how: 'gets an answer after its time',
    async end({ store, advance }, { id }) {
      await store.executions.extendAwait({
        ...{ project: PROJECT, id: interactionId(id), dueInMs: 50 },
      });
      await advance(50);
      await store.executions.answer(answering(interactionId(id)));
    },
  },
  { how: 'loses its execution', end: ({ store }, held) => finish(store, held) },
];

export const slotCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-17',
    name: 'at most `limit` questions of a key are open, and the others open in the order of asking',
    async run(given) {
      const { store } = given;
      const asked = await asking(given, await worker(store), { count: 4, ...limited(2) });
      const [first, second, third] = asked as [Held, Held, Held, Held];
      assert.deepEqual(await firstStates(store, asked), ['open', 'open', 'queued', 'queued']);
      const { unit } = await mustFind(store, interactionId(third.id));
      assert.deepEqual([unit?.status, unit?.concurrency], ['open', { key: 'bank', limit: 2 }]);
      await store.executions.answer(answering(interactionId(second.id)));
      assert.deepEqual(await firstStates(store, asked), ['open', 'answered', 'open', 'queued']);
      await store.executions.answer(answering(interactionId(third.id)));
      await store.executions.answer(answering(interactionId(first.id)));
      assert.deepEqual(await firstStates(store, asked), [
        ...['answered', 'answered', 'answered', 'open'],
      ]);
    },
  },
  {
    upholds: 'W-17, W-18',
    name: 'each question of an await takes a slot of its own, in the order of the items',
    async run({ store }) {
      const { id } = await parkedOn(store, await worker(store), { items: 4, ...limited(2) });
      assert.deepEqual(await statesOf(store, id), ['open', 'open', 'open', 'queued', 'queued']);
      await store.executions.answer(answering(interactionId(id, 1)));
      assert.deepEqual(await statesOf(store, id), ['open', 'open', 'answered', 'open', 'queued']);
      for (const item of [0, 2, 3]) {
        await store.executions.answer(answering(interactionId(id, item)));
      }
      assert.deepEqual(await statesOf(store, id), ['answered', ...Array(4).fill('answered')]);
      assert.equal((await settlementsOf(store, id)).length, 1);
    },
  },
  ...ENDS.map(
    ({ how, end }): ExecutionCase => ({
      upholds: 'W-18',
      name: `when an open question ${how}, the next one opens`,
      async run(given) {
        const { store } = given;
        const asked = await asking(given, await worker(store), { count: 3, ...limited(1) });
        assert.deepEqual(await firstStates(store, asked), ['open', 'queued', 'queued']);
        await end(given, asked[0] as Held);
        const after = await firstStates(store, asked);
        assert.deepEqual(after.slice(1), ['open', 'queued']);
      },
    }),
  ),
  {
    upholds: 'W-3, W-18',
    name: 'an await that has enough answers closes its queued questions and gives up all slots',
    async run({ store, advance }) {
      const ann = await worker(store);
      const one = await mustOpen(store, await running(store, ann), {
        ...{ items: 3, needed: 1, ...limited(2) },
      });
      await advance(1);
      const other = await mustOpen(store, await running(store, ann), { items: 3, ...limited(2) });
      assert.deepEqual(await statesOf(store, other.id), ['open', ...Array(3).fill('queued')]);
      await store.executions.answer(answering(interactionId(one.id)));
      assert.deepEqual(await statesOf(store, one.id), ['answered', 'answered', 'closed', 'closed']);
      assert.deepEqual(await statesOf(store, other.id), ['open', 'open', 'open', 'queued']);
    },
  },
  {
    upholds: 'W-9, W-19',
    name: 'the end of an execution closes its queued questions, and they never open',
    async run(given) {
      const { store } = given;
      const asked = await asking(given, await worker(store), { count: 3, ...limited(1) });
      const [first, second] = asked as [Held, Held, Held];
      await finish(store, second);
      assert.deepEqual(await firstStates(store, asked), ['open', 'closed', 'queued']);
      await store.executions.answer(answering(interactionId(first.id)));
      assert.deepEqual(await firstStates(store, asked), ['answered', 'closed', 'open']);
    },
  },
  {
    upholds: 'W-6, W-17',
    name: 'the time of an await counts while its question is queued',
    async run(given) {
      const { store, advance } = given;
      const ann = await worker(store);
      const [first] = await asking(given, ann, { count: 1, ...limited(1) });
      const held = await parkedOn(store, ann, { timeoutMs: 100, ...limited(1) });
      await advance(100);
      assert.equal((await store.executions.expireAwaits({ limit: 9 })).settled, 1);
      assert.deepEqual(await statesOf(store, held.id), ['timed-out', 'closed']);
      const late = await store.executions.answer(answering(interactionId(held.id)));
      assert.equal(late.kind === 'refused' && late.why, 'answer-late');
      assert.deepEqual(await statesOf(store, (first as Held).id), ['open', 'open']);
    },
  },
  {
    upholds: 'W-2, W-19',
    name: 'a queued question can be answered, also before it is asked, and takes no slot',
    async run(given) {
      const { store } = given;
      const ann = await worker(store);
      const asked = await asking(given, ann, { count: 3, ...limited(1) });
      const queued = (asked[1] as Held).id;
      const answered = await store.executions.answer(answering(interactionId(queued)));
      assert.deepEqual(answered, { kind: 'answered', settled: true });
      assert.deepEqual(await firstStates(store, asked), ['open', 'answered', 'queued']);
      const held = await running(store, ann);
      await store.executions.answer(answeringEarly(held.id));
      await mustOpen(store, held, limited(1));
      assert.deepEqual(await statesOf(store, held.id), ['answered', 'answered']);
      assert.deepEqual(await firstStates(store, asked), ['open', 'answered', 'queued']);
    },
  },
  {
    upholds: 'W-7, W-17',
    name: 'an early answer that does not count waits for a slot as a question',
    async run(given) {
      const { store } = given;
      const ann = await worker(store);
      const [first] = await asking(given, ann, { count: 1, ...limited(1) });
      const held = await running(store, ann);
      await store.executions.answer(answeringEarly(held.id));
      await mustOpen(store, held, { signed: true, ...limited(1) });
      assert.deepEqual(await statesOf(store, held.id), ['open', 'queued']);
      await store.executions.answer(answering(interactionId((first as Held).id)));
      assert.deepEqual(await statesOf(store, held.id), ['open', 'open']);
    },
  },
  {
    upholds: 'W-17',
    name: 'the last await with a key sets its limit: a raise opens questions, a cut closes none',
    async run(given) {
      const { store } = given;
      const ann = await worker(store);
      const asked = [
        ...(await asking(given, ann, { count: 3, ...limited(1) })),
        ...(await asking(given, ann, { count: 1, ...limited(3) })),
      ];
      assert.deepEqual(await firstStates(store, asked), ['open', 'open', 'open', 'queued']);
      asked.push(...(await asking(given, ann, { count: 1, ...limited(1) })));
      assert.deepEqual(await firstStates(store, asked), [
        ...['open', 'open', 'open', 'queued', 'queued'],
      ]);
      for (const { id } of asked.slice(0, 2)) {
        await store.executions.answer(answering(interactionId(id)));
      }
      assert.deepEqual((await firstStates(store, asked)).slice(2), ['open', 'queued', 'queued']);
    },
  },
  {
    upholds: 'W-17',
    name: 'keys and projects have slots of their own, and questions without a key need none',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const awaits = [
        opening(held.id, { call: CALL, ...limited(1) }),
        opening(held.id, { call: OTHER_CALL, concurrency: { key: 'clerk', limit: 1 } }),
      ];
      await store.executions.record({ ...writing(held, OPENED, OPENED), awaits });
      assert.deepEqual(await statesOf(store, held.id, CALL), ['open', 'open']);
      assert.deepEqual(await statesOf(store, held.id, OTHER_CALL), ['open', 'open']);
      const free = await mustOpen(store, await running(store, ann));
      assert.deepEqual(await statesOf(store, free.id), ['open', 'open']);
      const other = await running(store, ann, { project: OTHER_PROJECT });
      await mustOpen(store, other, limited(1));
      const [found] = await store.executions.interactions({ project: OTHER_PROJECT, limit: 9 });
      assert.equal(found?.interaction.status, 'open');
    },
  },
  {
    upholds: 'W-8, W-17',
    name: 'a queued question can be assigned, given more time and cancelled, and stays queued',
    async run(given) {
      const { store } = given;
      const asked = await asking(given, await worker(store), { count: 2, ...limited(1) });
      const { id: execution } = asked[1] as Held;
      const which = { project: PROJECT, id: interactionId(execution) };
      await store.executions.assignAwait({ ...which, assignee: 'olga' });
      await store.executions.extendAwait({ ...which, dueInMs: 900 });
      const { interaction } = await mustFind(store, which.id);
      assert.deepEqual([interaction.status, interaction.assignee], ['queued', 'olga']);
      await store.executions.cancelAwait(which);
      assert.deepEqual(await statesOf(store, execution), ['cancelled', 'closed']);
    },
  },
  {
    upholds: 'W-1, W-17',
    name: 'repeating the write that asks neither queues nor opens anything',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const awaits = [opening(held.id, { items: 2, ...limited(1) })];
      const write = { ...writing(held, OPENED), awaits };
      await store.executions.record(write);
      await advance(5);
      await leavesUnchanged(store, () => store.executions.record(write));
      assert.deepEqual(await statesOf(store, held.id), ['open', 'open', 'queued']);
    },
  },
  {
    upholds: 'W-10, W-19',
    name: 'queued questions have a list, and are in no list of open ones',
    async run(given) {
      const { store } = given;
      const asked = await asking(given, await worker(store), {
        count: 3,
        assignee: 'olga',
        ...limited(1),
      });
      const [first, ...others] = asked.map(({ id }) => interactionId(id));
      const listed = async (query: object): Promise<readonly string[]> => {
        const found = await store.executions.interactions({
          ...{ project: PROJECT, limit: 9, ...query },
        });
        return found.map(({ interaction }) => interaction.id);
      };
      assert.deepEqual(await listed({ open: true }), [first]);
      assert.deepEqual(await listed({ open: true, assignee: 'olga' }), [first]);
      assert.deepEqual(await listed({ queued: true }), others.toReversed());
      assert.deepEqual(await listed({ queued: true, assignee: 'olga', limit: 1 }), [others[1]]);
      assert.deepEqual(await listed({ queued: true, assignee: 'pia' }), []);
      assert.deepEqual(await listed({ queued: true, execution: (asked[1] as Held).id }), [
        others[0],
      ]);
      assert.deepEqual(await listed({ queued: true, project: OTHER_PROJECT }), []);
    },
  },
  {
    upholds: 'W-18',
    needs: 'two-clients',
    name: 'when many ask, answer and end at once, the limit holds and every question opens in the end',
    async run({ store, another }) {
      const stores = [store, await another()] as const;
      const of = (nth: number): CoordinatorStore => stores[nth % 2] ?? store;
      const ann = await worker(store);
      const held: Held[] = [];
      for (let nth = 0; nth < 10; nth += 1) held.push(await running(store, ann));
      const opened = await Promise.all(
        held.map((each, nth) => mustOpen(of(nth), each, limited(3))),
      );
      for (let left = 10; left > 0; ) {
        const states = await firstStates(store, opened);
        const open = opened.filter((_, nth) => states[nth] === 'open');
        assert.equal(open.length, Math.min(3, left), states.join(' '));
        await Promise.all(
          open.map((each, nth) =>
            nth === 1
              ? finish(of(left), each)
              : of(nth).executions.answer(answering(interactionId(each.id))),
          ),
        );
        left -= open.length;
      }
    },
  },
];
