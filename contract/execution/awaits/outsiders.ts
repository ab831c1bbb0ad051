import assert from 'node:assert/strict';
import type { InteractionId, ProjectName } from '../../../src/execution/names.ts';
import type { AwaitResult } from '../../../src/features/awaits/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  commanding,
  mustClaim,
  mustRead,
  mustSubmit,
  nextId,
  noticesOf,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  submitting,
  worker,
} from '../worker.ts';
import {
  answering,
  answeringEarly,
  CALL,
  interactionId,
  mustFind,
  mustOpen,
  parkedOn,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

type Operation = (
  store: CoordinatorStore,
  id: InteractionId,
  project?: ProjectName,
) => Promise<AwaitResult>;

/** Every command on a unit. */
export const AWAIT_VERBS: Readonly<Record<string, Operation>> = {
  extendAwait: ({ executions }, id, project = PROJECT) =>
    executions.extendAwait({ project, id, dueInMs: 77_000 }),
  assignAwait: ({ executions }, id, project = PROJECT) =>
    executions.assignAwait({ project, id, assignee: 'paul' }),
  cancelAwait: ({ executions }, id, project = PROJECT) => executions.cancelAwait({ project, id }),
};

const verbs = Object.entries(AWAIT_VERBS);
const DONE = { kind: 'done' };

export const outsiderCases: readonly ExecutionCase[] = [
  ...verbs.map(
    ([verb, operation]): ExecutionCase => ({
      upholds: 'W-8, X-21',
      name: `${verb} is refused as unknown if there is no unit, or it belongs to another project`,
      async run({ store }) {
        const held = await parkedOn(store, await worker(store));
        const early = await mustSubmit(store);
        await store.executions.answer(answeringEarly(early));
        const id = interactionId(held.id);
        for (const attempt of [
          () => operation(store, interactionId(nextId())),
          () => operation(store, interactionId(held.id, 1)),
          () => operation(store, interactionId(early)),
          () => operation(store, id, OTHER_PROJECT),
        ]) {
          await expectRefusedUnchanged(store, 'await-unknown', attempt);
        }
      },
    }),
  ),
  ...verbs.map(
    ([verb, operation]): ExecutionCase => ({
      upholds: 'W-8',
      name: `${verb} is refused once the unit has settled, for whatever reason`,
      async run({ store, advance }) {
        const ann = await worker(store);
        const held = {
          answered: await parkedOn(store, ann, { items: 2, needed: 1 }),
          'timed-out': await parkedOn(store, ann, { items: 2, timeoutMs: 100 }),
          cancelled: await parkedOn(store, ann, { items: 2 }),
        };
        const ended = await parkedOn(store, ann, { items: 2 });
        await store.executions.answer(answering(interactionId(held.answered.id)));
        const id = interactionId(held.cancelled.id);
        assert.deepEqual(await store.executions.cancelAwait({ project: PROJECT, id }), DONE);
        await store.executions.cancel(commanding(ended.id));
        await advance(100);
        await store.executions.expireAwaits({ limit: 9 });
        for (const [status, of] of [...Object.entries(held), ['cancelled', ended] as const]) {
          for (const each of [interactionId(of.id, 0), interactionId(of.id, 1)]) {
            const answer = await leavesUnchanged(store, () => operation(store, each));
            const why = 'await-settled';
            assert.deepEqual(answer, { kind: 'refused', why, id: each, status });
          }
        }
      },
    }),
  ),
  ...verbs.map(
    ([verb, operation]): ExecutionCase => ({
      upholds: 'W-8, W-6',
      name: `${verb} cannot revive a unit that is past its timeout and not swept yet`,
      async run({ store, advance }) {
        const ann = await worker(store);
        const defaultAnswer = payload('no');
        const plain = await parkedOn(store, ann, { timeoutMs: 100 });
        const fallback = await parkedOn(store, ann, { timeoutMs: 100, defaultAnswer });
        await advance(100);
        for (const [of, status] of [
          [plain, 'timed-out'],
          [fallback, 'answered'],
        ] as const) {
          const id = interactionId(of.id);
          const answer = await leavesUnchanged(store, () => operation(store, id));
          assert.deepEqual(answer, { kind: 'refused', why: 'await-settled', id, status });
        }
        assert.equal((await store.executions.expireAwaits({ limit: 9 })).settled, 2);
      },
    }),
  ),
  {
    upholds: 'W-8, W-6',
    name: 'extendAwait postpones the timeout, counted from now, and the unit is not due before',
    async run({ store, advance, now }) {
      const held = await parkedOn(store, await worker(store), { timeoutMs: 100 });
      await advance(60);
      const id = interactionId(held.id);
      const request = { project: PROJECT, id, dueInMs: 500 };
      assert.deepEqual(await store.executions.extendAwait(request), DONE);
      const { unit } = await mustFind(store, id);
      assert.deepEqual([unit?.dueAt, unit?.nextAt], [now() + 500, now() + 500]);
      await advance(499);
      const early = await leavesUnchanged(store, () => store.executions.expireAwaits({ limit: 9 }));
      assert.deepEqual(early, { settled: 0, started: 0, more: false, nextInMs: 1 });
      await advance(1);
      assert.equal((await store.executions.expireAwaits({ limit: 9 })).settled, 1);
    },
  },
  {
    upholds: 'W-8, W-6',
    name: 'extendAwait brings the timeout forward, removes it, or sets the first one',
    async run({ store, advance }) {
      const ann = await worker(store);
      const sooner = await parkedOn(store, ann, { timeoutMs: 9_000 });
      const never = await parkedOn(store, ann, { timeoutMs: 100 });
      const fresh = await parkedOn(store, ann);
      const extend = (id: InteractionId, dueInMs?: number) =>
        store.executions.extendAwait({
          ...{ project: PROJECT, id },
          ...(dueInMs === undefined ? {} : { dueInMs }),
        });
      assert.deepEqual(await extend(interactionId(sooner.id), 50), DONE);
      assert.deepEqual(await extend(interactionId(never.id)), DONE);
      assert.deepEqual(await extend(interactionId(fresh.id), 80), DONE);
      const { unit } = await mustFind(store, interactionId(never.id));
      assert.deepEqual([unit?.dueAt, unit?.nextAt], [undefined, undefined]);
      await advance(50);
      const first = await store.executions.expireAwaits({ limit: 9 });
      assert.deepEqual(first, { settled: 1, started: 0, more: false, nextInMs: 30 });
      await advance(9_000);
      const second = await store.executions.expireAwaits({ limit: 9 });
      assert.deepEqual(second, { settled: 1, started: 0, more: false });
      assert.deepEqual(await statesOf(store, never.id), ['open', 'open']);
    },
  },
  {
    upholds: 'W-8, W-6',
    name: 'extendAwait leaves reminders as they are',
    async run({ store, advance, now }) {
      const reminders = [{ afterMs: 200, start: submitting() }];
      const held = await parkedOn(store, await worker(store), { timeoutMs: 100, reminders });
      const id = interactionId(held.id);
      await store.executions.extendAwait({ project: PROJECT, id, dueInMs: 900 });
      const { unit } = await mustFind(store, id);
      assert.deepEqual([unit?.nextAt, unit?.reminders], [now() + 200, reminders]);
      await advance(200);
      assert.equal((await store.executions.expireAwaits({ limit: 9 })).started, 1);
    },
  },
  {
    upholds: 'W-8',
    name: 'assignAwait sets or removes the assignee of one interaction',
    async run({ store }) {
      const options = { items: 2, assignee: 'olga' };
      const held = await parkedOn(store, await worker(store), options);
      const [id, other] = [interactionId(held.id, 1), interactionId(held.id, 0)];
      const before = await mustRead(store, held.id);
      const assigneeOf = async (each: InteractionId) =>
        (await mustFind(store, each)).interaction.assignee;
      const request = { project: PROJECT, id };
      assert.deepEqual(await store.executions.assignAwait({ ...request, assignee: 'otto' }), DONE);
      assert.deepEqual([await assigneeOf(id), await assigneeOf(other)], ['otto', 'olga']);
      assert.deepEqual(await store.executions.assignAwait(request), DONE);
      assert.deepEqual([await assigneeOf(id), await assigneeOf(other)], [undefined, 'olga']);
      // Any caller may answer, not only the assignee.
      assert.equal((await store.executions.answer(answering(other))).kind, 'answered');
      assert.deepEqual(await mustRead(store, held.id), before);
    },
  },
  {
    upholds: 'W-8, W-3, X-16',
    name: 'cancelAwait settles the unit, closes its items, wakes the execution and keeps earlier answers',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const held = await parkedOn(store, ann, { items: 3, timeoutMs: 5_000 });
      await store.executions.answer(answering(interactionId(held.id, 2), 'yes'));
      await advance(10);
      const request = { project: PROJECT, id: interactionId(held.id) };
      assert.deepEqual(await store.executions.cancelAwait(request), DONE);
      const states = ['cancelled', 'closed', 'closed', 'answered'];
      assert.deepEqual(await statesOf(store, held.id), states);
      const { unit } = await mustFind(store, request.id);
      assert.deepEqual([unit?.settledAt, unit?.nextAt], [now(), undefined]);
      assert.deepEqual(await settlementsOf(store, held.id), [
        { call: CALL, status: 'cancelled', answers: [[2, 'yes']] },
      ]);
      assert.equal((await mustRead(store, held.id)).status, 'queued');
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'W-8, X-5',
    name: 'cancelAwait gives a notice to the owner of a running execution',
    async run({ store }) {
      const ann = await worker(store);
      const held = await mustOpen(store, await running(store, ann));
      const before = await noticesOf(store, ann);
      await store.executions.cancelAwait({ project: PROJECT, id: interactionId(held.id) });
      assert.notEqual(await noticesOf(store, ann), before);
    },
  },
];
