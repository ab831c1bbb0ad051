import assert from 'node:assert/strict';
import type { ExecutionId, InteractionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  type Held,
  mustFinish,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  worker,
  writing,
} from '../worker.ts';
import {
  answering,
  answeringEarly,
  interactionId,
  lateValues,
  mustFind,
  mustOpen,
  OPENED,
  OTHER_CALL,
  opening,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

const PAYMENT = 'payment-17';

function foundBy(
  { executions }: CoordinatorStore,
  correlation: string,
  project = PROJECT,
): Promise<InteractionId | undefined> {
  return executions.idOfCorrelation({ project, correlation });
}

/** The question was never open, and its code learns why. */
async function expectClash(store: CoordinatorStore, id: ExecutionId, items = 1): Promise<void> {
  const closed = Array.from({ length: items }, () => 'closed');
  assert.deepEqual(await statesOf(store, id), ['cancelled', ...closed]);
  const [settlement, more] = await settlementsOf(store, id);
  const { call } = opening(id);
  const expected = { call, status: 'cancelled', answers: [], clash: PAYMENT };
  assert.deepEqual([settlement, more], [expected, undefined]);
  const { interaction } = await mustFind(store, interactionId(id));
  assert.equal(interaction.correlation, undefined);
}

export const correlatingCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-14',
    name: 'a correlation finds one item of an await, in its project',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustOpen(store, held, { items: 2, correlations: [PAYMENT, 'payment-18'] });
      assert.equal(await foundBy(store, PAYMENT), interactionId(held.id));
      assert.equal(await foundBy(store, 'payment-18'), interactionId(held.id, 1));
      assert.equal(await foundBy(store, 'payment-19'), undefined);
      assert.equal(await foundBy(store, PAYMENT, OTHER_PROJECT), undefined);
      const { interaction } = await mustFind(store, interactionId(held.id, 1));
      assert.equal(interaction.correlation, 'payment-18');
    },
  },
  {
    upholds: 'W-14',
    name: 'a correlation finds its question after the answer, so a repeated answer counts once',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const asked = await mustOpen(store, held, { correlations: [PAYMENT] });
      const id = (await foundBy(store, PAYMENT)) as InteractionId;
      await store.executions.answer(answering(id));
      const again = async (): Promise<void> => {
        assert.equal(await foundBy(store, PAYMENT), id);
        const same = await leavesUnchanged(store, () => store.executions.answer(answering(id)));
        assert.deepEqual(same, { kind: 'existing', settled: false });
      };
      await again();
      await mustFinish(store, asked);
      await again();
    },
  },
  {
    upholds: 'W-15',
    name: 'an await whose correlation another open execution has is cancelled at once',
    async run({ store }) {
      const ann = await worker(store);
      const [first, second] = [await running(store, ann), await running(store, ann)];
      await mustOpen(store, first, { correlations: [PAYMENT] });
      await store.executions.answer(answeringEarly(second.id, 'soon'));
      await mustOpen(store, second, { items: 2, correlations: ['payment-18', PAYMENT] });
      await expectClash(store, second.id, 2);
      assert.deepEqual(await lateValues(store, interactionId(second.id)), ['soon']);
      assert.equal(await foundBy(store, 'payment-18'), undefined);
      assert.equal(await foundBy(store, PAYMENT), interactionId(first.id));
      assert.deepEqual(await statesOf(store, first.id), ['open', 'open']);
    },
  },
  {
    upholds: 'W-15',
    name: 'two questions of one write cannot have the same correlation',
    async run({ store }) {
      const ann = await worker(store);
      const [items, units] = [await running(store, ann), await running(store, ann)];
      await mustOpen(store, items, { items: 2, correlations: [PAYMENT, PAYMENT] });
      await expectClash(store, items.id, 2);
      const awaits = [
        opening(units.id, { call: OTHER_CALL, correlations: [PAYMENT] }),
        opening(units.id, { correlations: [PAYMENT] }),
      ];
      await store.executions.record({ ...writing(units, OPENED, OPENED), awaits });
      await expectClash(store, units.id);
      assert.deepEqual(await statesOf(store, units.id, OTHER_CALL), ['open', 'open']);
    },
  },
  {
    upholds: 'W-15',
    name: 'opening an await again leaves its correlation as it is',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const awaits = [opening(held.id, { correlations: [PAYMENT] })];
      const write = { ...writing(held, OPENED), awaits };
      await store.executions.record(write);
      await leavesUnchanged(store, () => store.executions.record(write));
      assert.deepEqual(await statesOf(store, held.id), ['open', 'open']);
    },
  },
  {
    upholds: 'W-15',
    name: 'an ended execution keeps its correlation until another question takes it',
    async run({ store }) {
      const ann = await worker(store);
      const first = await running(store, ann);
      const asked = await mustOpen(store, first, { correlations: [PAYMENT] });
      await mustFinish(store, asked, { leavesAwaits: true });
      const id = interactionId(first.id);
      assert.equal(await foundBy(store, PAYMENT), id);
      const late = await store.executions.answer(answering(id));
      assert.equal(late.kind === 'refused' && late.why, 'answer-late');
      const second = await running(store, ann);
      await mustOpen(store, second, { correlations: [PAYMENT] });
      assert.equal(await foundBy(store, PAYMENT), interactionId(second.id));
      assert.equal((await mustFind(store, id)).interaction.correlation, undefined);
      assert.deepEqual(await statesOf(store, second.id), ['open', 'open']);
    },
  },
  {
    upholds: 'W-15',
    name: 'questions of two projects may have the same correlation',
    async run({ store }) {
      const ann = await worker(store);
      const here = await running(store, ann);
      const there = await running(store, ann, { project: OTHER_PROJECT });
      for (const held of [here, there]) await mustOpen(store, held, { correlations: [PAYMENT] });
      assert.equal(await foundBy(store, PAYMENT), interactionId(here.id));
      assert.equal(await foundBy(store, PAYMENT, OTHER_PROJECT), interactionId(there.id));
    },
  },
  {
    upholds: 'W-15',
    name: 'awaits that open at once with one correlation: one is asked',
    async run({ store }) {
      const ann = await worker(store);
      const ended = await running(store, ann);
      const asked = await mustOpen(store, ended, { correlations: [PAYMENT] });
      await mustFinish(store, asked, { leavesAwaits: true });
      const all: Held[] = [];
      for (let left = 8; left > 0; left -= 1) all.push(await running(store, ann));
      const awaitsOf = (id: ExecutionId) => [
        { ...opening(id, { correlations: [PAYMENT] }), defaultAnswer: payload('no') },
      ];
      await Promise.all(
        all.map((held) =>
          store.executions.record({ ...writing(held, OPENED), awaits: awaitsOf(held.id) }),
        ),
      );
      const open = [];
      for (const { id } of all) {
        const [status] = await statesOf(store, id);
        if (status === 'open') open.push(interactionId(id));
        else await expectClash(store, id);
      }
      assert.deepEqual(open, [await foundBy(store, PAYMENT)]);
    },
  },
];
