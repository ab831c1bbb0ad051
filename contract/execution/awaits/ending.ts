import assert from 'node:assert/strict';
import { TERMINAL, type TerminalStatus } from '../../../src/execution/execution.ts';
import type { CallKey, ExecutionId } from '../../../src/execution/names.ts';
import type {
  CoordinatorStore,
  Finish,
  Submit,
} from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import { letter } from '../repair/repairing.ts';
import {
  childOf,
  claimAll,
  commanding,
  finishing,
  type Held,
  heldOf,
  later,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  OTHER_PIPELINE,
  PROJECT,
  payload,
  running,
  statusOf,
  submitting,
  worker,
  writing,
} from '../worker.ts';
import {
  answering,
  answeringEarly,
  answerOf,
  interactionId,
  lateValues,
  mustFind,
  mustOpen,
  OTHER_CALL,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

/**
 * A running execution with a unit that has one of two answers, and an early answer to another unit.
 */
async function withAwaits(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  deadlineMs: number = 60_000,
): Promise<Held> {
  const held = await running(store, who, { deadlineMs });
  const opened = await mustOpen(store, held, { items: 2, timeoutMs: 500_000 });
  await store.executions.answer(answering(interactionId(held.id), 'yes'));
  await store.executions.answer(answeringEarly(held.id, 'soon', { call: OTHER_CALL }));
  return opened;
}

/** Asserts that all awaits are closed (W-9) and that none is due any more. */
async function expectClosed(store: CoordinatorStore, { id }: Pick<Held, 'id'>): Promise<void> {
  const { endedAt, inboxCount } = await mustRead(store, id);
  assert.equal(inboxCount, 0, 'the execution gets no message');
  assert.deepEqual(await settlementsOf(store, id), []);
  assert.deepEqual(await statesOf(store, id), ['cancelled', 'answered', 'closed']);
  const { unit } = await mustFind(store, interactionId(id));
  assert.deepEqual([unit?.settledAt, unit?.nextAt, unit?.answered], [endedAt, undefined, 1]);
  const early = interactionId(id, 0, OTHER_CALL);
  const { interaction } = await mustFind(store, early);
  assert.deepEqual(
    [interaction.status, interaction.late, answerOf(interaction)],
    ['closed', 1, undefined],
  );
  assert.deepEqual(await lateValues(store, early), ['soon']);
  assert.equal((await store.executions.expireAwaits({ limit: 9 })).nextInMs, undefined);
  for (const each of [early, interactionId(id, 1)]) {
    const answer = await store.executions.answer(answering(each, 'later'));
    const why = 'answer-late';
    assert.deepEqual(answer, { kind: 'refused', why, id: each, status: 'cancelled' });
  }
  assert.deepEqual(await lateValues(store, early), ['soon', 'later']);
}

/** Ways to end an execution that use different statements. */
const ALONE: readonly {
  readonly name: string;
  submit(parent: ExecutionId): Partial<Submit>;
  options(): Partial<Finish>;
}[] = [
  { name: 'alone', submit: () => ({}), options: () => ({}) },
  {
    name: 'with a dead letter',
    submit: () => ({}),
    options: () => ({ status: 'failed', deadLetter: letter() }),
  },
  {
    name: 'a child',
    submit: (id) => ({ parent: { id, call: 'child:ask#1' as CallKey } }),
    options: () => ({ outcome: payload({ status: 'completed' }) }),
  },
  {
    name: 'with a slot',
    submit: () => ({ concurrency: { key: 'one', limit: 1 } }),
    options: () => ({}),
  },
  { name: 'followed by another', submit: () => ({}), options: () => ({ successor: submitting() }) },
];

export const endingCases: readonly ExecutionCase[] = [
  ...([...TERMINAL] as readonly TerminalStatus[]).map(
    (status): ExecutionCase => ({
      upholds: 'W-9, X-14',
      name: `an execution that ends as ${status} leaves no open unit, open interaction or early answer`,
      async run({ store, advance }) {
        const held = await withAwaits(store, await worker(store));
        await advance(10);
        const request = finishing(held, { status, leavesAwaits: true });
        expectKind(await store.executions.finish(request), 'finished');
        await advance(10);
        const again = await leavesUnchanged(store, () => store.executions.finish(request));
        expectKind(again, 'finished');
        await expectClosed(store, held);
      },
    }),
  ),
  {
    upholds: 'W-9',
    name: 'a finish may announce open awaits though there is nothing to close',
    async run({ store }) {
      const ann = await worker(store);
      await mustFinish(store, await running(store, ann), { leavesAwaits: true });
      const held = await mustOpen(store, await running(store, ann));
      await store.executions.answer(answering(interactionId(held.id)));
      await mustFinish(store, held, { leavesAwaits: true });
      assert.deepEqual(await statesOf(store, held.id), ['answered', 'answered']);
    },
  },
  ...ALONE.map(
    ({ name, submit, options }): ExecutionCase => ({
      upholds: 'W-9',
      name: `an early answer to an execution that never awaited is kept as a late one when it ends (${name})`,
      async run({ store, advance }) {
        const ann = await worker(store);
        const parent = await running(store, ann);
        const held = await running(store, ann, submit(parent.id));
        expectKind(await store.executions.answer(answeringEarly(held.id, 'soon')), 'kept');
        await advance(10);
        const request = finishing(held, options());
        expectKind(await store.executions.finish(request), 'finished');
        const again = await leavesUnchanged(store, () => store.executions.finish(request));
        expectKind(again, 'finished');
        const id = interactionId(held.id);
        const { interaction } = await mustFind(store, id);
        assert.deepEqual([interaction.status, interaction.late], ['closed', 1]);
        assert.deepEqual(await lateValues(store, id), ['soon']);
        const query = { project: PROJECT, open: true, limit: 9 };
        assert.deepEqual(await store.executions.interactions(query), []);
      },
    }),
  ),
  {
    upholds: 'W-9',
    name: 'an execution without early answers ends as usual beside one that has an early answer',
    async run({ store }) {
      const ann = await worker(store);
      const [plain, early] = [await running(store, ann), await running(store, ann)];
      await store.executions.answer(answeringEarly(early.id, 'soon'));
      await Promise.all([mustFinish(store, plain), mustFinish(store, early)]);
      assert.deepEqual(await lateValues(store, interactionId(early.id)), ['soon']);
      assert.equal(await statusOf(store, plain.id), 'completed');
    },
  },
  {
    upholds: 'W-9, X-1',
    name: 'a refused finish closes no await',
    async run({ store }) {
      const held = await withAwaits(store, await worker(store));
      await expectRefusedUnchanged(store, 'seq-taken', () =>
        store.executions.finish(finishing(later(held, 2), { leavesAwaits: true })),
      );
    },
  },
  {
    upholds: 'W-9, X-17',
    name: 'a cancel of a waiting execution closes its awaits',
    async run({ store, advance }) {
      const held = await withAwaits(store, await worker(store));
      await mustPark(store, held);
      await advance(10);
      expectKind(await store.executions.cancel(commanding(held.id)), 'done');
      await expectClosed(store, held);
    },
  },
  {
    upholds: 'W-9, X-17',
    name: 'a cancel of a queued execution closes the awaits that it opened',
    async run({ store }) {
      const held = await withAwaits(store, await worker(store));
      await mustGiveBack(store, held);
      expectKind(await store.executions.cancel(commanding(held.id)), 'done');
      await expectClosed(store, held);
    },
  },
  {
    upholds: 'W-9, X-17',
    name: 'a forwarded cancel closes no await yet',
    async run({ store }) {
      const held = await withAwaits(store, await worker(store));
      expectKind(await store.executions.cancel(commanding(held.id)), 'forwarded');
      assert.deepEqual(await statesOf(store, held.id), ['open', 'answered', 'open']);
      await mustFinish(store, held, { status: 'cancelled', leavesAwaits: true });
      assert.deepEqual(await statesOf(store, held.id), ['cancelled', 'answered', 'closed']);
    },
  },
  {
    upholds: 'W-9, X-20',
    name: 'a passed deadline closes the awaits of the execution',
    async run({ store, advance }) {
      const held = await withAwaits(store, await worker(store), 1_000);
      await mustPark(store, held);
      await advance(1_000);
      const { overdue } = await store.executions.maintain({ limit: 9 });
      assert.deepEqual(overdue, [held.id]);
      await expectClosed(store, held);
    },
  },
  {
    upholds: 'W-9, X-20',
    name: 'children that are cancelled after their parent leave nothing open either',
    async run({ store }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const children = [childOf(parent.id, 'child:ask#1')];
      await store.executions.record({ ...writing(parent, { kind: 'child-spawned' }), children });
      const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claimed !== undefined);
      const child = await mustOpen(store, heldOf(claimed, ann));
      await mustPark(store, child);
      await mustFinish(store, later(parent));
      await store.executions.maintain({ limit: 9 });
      assert.equal(await statusOf(store, child.id), 'cancelled');
      assert.deepEqual(await statesOf(store, child.id), ['cancelled', 'closed']);
    },
  },
  {
    upholds: 'W-9, X-14',
    name: 'a successor starts without the awaits of the execution before it',
    async run({ store }) {
      const held = await withAwaits(store, await worker(store));
      const successor = childOf(held.id, 'unused#1');
      const { parent: _, ...plain } = successor;
      await mustFinish(store, held, { successor: plain, leavesAwaits: true });
      assert.deepEqual(await statesOf(store, successor.id), ['none']);
      await expectClosed(store, held);
    },
  },
];
