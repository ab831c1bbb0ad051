import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import { LATE_ANSWERS_MAX } from '../../../src/features/awaits/model.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  commanding,
  kindsOf,
  mustClaim,
  mustFinish,
  mustRead,
  nextId,
  OTHER_PROJECT,
  PROJECT,
  payload,
  worker,
} from '../worker.ts';
import {
  answering,
  interactionId,
  lateValues,
  mustFind,
  parkedOn,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

/** Everything that a late answer must not change. */
async function restOf(store: CoordinatorStore, id: ExecutionId): Promise<unknown> {
  return [
    await mustRead(store, id),
    await kindsOf(store, id),
    await settlementsOf(store, id),
    await statesOf(store, id),
  ];
}

/** Sends a late answer, and asserts that only the record of late answers changes. */
async function expectLate(
  store: CoordinatorStore,
  execution: ExecutionId,
  { item, status }: { readonly item: number; readonly status: string },
): Promise<void> {
  const id = interactionId(execution, item);
  const before = await restOf(store, execution);
  const { interaction } = await mustFind(store, id);
  const answer = await store.executions.answer(answering(id, 'too late', { actor: 'otto' }));
  assert.deepEqual(answer, { kind: 'refused', why: 'answer-late', id, status });
  const after = await mustFind(store, id);
  assert.deepEqual(after.interaction, { ...interaction, late: interaction.late + 1 });
  assert.deepEqual((await lateValues(store, id)).at(-1), 'too late');
  assert.deepEqual(await restOf(store, execution), before);
}

export const answeringCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-4',
    name: 'repeating an answer returns existing, while the unit is open and after it has settled',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await parkedOn(store, ann, { items: 2 });
      const request = answering(interactionId(held.id), 'yes', { actor: 'olga' });
      await store.executions.answer(request);
      const again = async (): Promise<void> => {
        await advance(5);
        // Equal digests are equal answers, from any sender and in any format.
        const other = { ...request, actor: 'otto', value: payload(' yes') };
        for (const same of [request, other]) {
          const answer = await leavesUnchanged(store, () => store.executions.answer(same));
          assert.deepEqual(answer, { kind: 'existing', settled: false });
        }
      };
      await again();
      await store.executions.answer(answering(interactionId(held.id, 1)));
      await again();
      await mustFinish(store, await mustClaim(store, ann, held.id));
      await again();
    },
  },
  {
    upholds: 'W-4',
    name: 'a different answer is refused with the actor and time of the first',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const held = await parkedOn(store, ann, { items: 2 });
      const id = interactionId(held.id);
      await store.executions.answer(answering(id, 'yes', { actor: 'olga' }));
      const at = now();
      const conflict = async (): Promise<void> => {
        await advance(5);
        const answer = await leavesUnchanged(store, () =>
          store.executions.answer(answering(id, 'no', { actor: 'otto' })),
        );
        assert.deepEqual(answer, {
          kind: 'refused',
          why: 'answer-conflict',
          id,
          actor: 'olga',
          at,
        });
      };
      await conflict();
      await store.executions.answer(answering(interactionId(held.id, 1)));
      await conflict();
      await mustFinish(store, await mustClaim(store, ann, held.id));
      await conflict();
    },
  },
  {
    upholds: 'W-4',
    name: 'the refusal of a different answer has only a time if the first answer has no actor',
    async run({ store, now }) {
      const held = await parkedOn(store, await worker(store));
      const id = interactionId(held.id);
      await store.executions.answer(answering(id, 'yes'));
      const answer = await store.executions.answer(answering(id, 'no'));
      assert.deepEqual(answer, { kind: 'refused', why: 'answer-conflict', id, at: now() });
    },
  },
  {
    upholds: 'W-4, X-21',
    name: 'an answer to a missing await, or to one of another project, is refused',
    async run({ store }) {
      const held = await parkedOn(store, await worker(store));
      for (const request of [
        answering(interactionId(nextId())),
        answering(interactionId(held.id), 'yes', { project: OTHER_PROJECT }),
      ]) {
        await expectRefusedUnchanged(store, 'await-unknown', () =>
          store.executions.answer(request),
        );
      }
    },
  },
  {
    upholds: 'W-5',
    name: 'an answer to a unit that other answers have settled is late',
    async run({ store, advance }) {
      const held = await parkedOn(store, await worker(store), { items: 2, needed: 1 });
      await store.executions.answer(answering(interactionId(held.id, 1)));
      await advance(5);
      await expectLate(store, held.id, { item: 0, status: 'answered' });
    },
  },
  {
    upholds: 'W-5, W-6',
    name: 'an answer to a timed-out unit is late, and earlier answers stay',
    async run({ store, advance }) {
      const held = await parkedOn(store, await worker(store), { items: 2, timeoutMs: 1_000 });
      await store.executions.answer(answering(interactionId(held.id, 1)));
      await advance(1_000);
      await store.executions.expireAwaits({ limit: 9 });
      await expectLate(store, held.id, { item: 0, status: 'timed-out' });
      const same = await store.executions.answer(answering(interactionId(held.id, 1)));
      assert.equal(same.kind, 'existing');
    },
  },
  {
    upholds: 'W-5, W-8',
    name: 'an answer to a cancelled await is late',
    async run({ store }) {
      const held = await parkedOn(store, await worker(store));
      await store.executions.cancelAwait({ project: PROJECT, id: interactionId(held.id) });
      await expectLate(store, held.id, { item: 0, status: 'cancelled' });
    },
  },
  {
    upholds: 'W-5, W-9',
    name: 'an answer to an ended execution is late',
    async run({ store }) {
      const held = await parkedOn(store, await worker(store));
      await store.executions.cancel(commanding(held.id));
      await expectLate(store, held.id, { item: 0, status: 'cancelled' });
    },
  },
  {
    upholds: 'W-5, W-6, X-16, W-12',
    name: 'an answer between the timeout and the sweep is late, and settles the unit',
    async run({ store, advance, now }) {
      const held = await parkedOn(store, await worker(store), { items: 2, timeoutMs: 1_000 });
      await store.executions.answer(answering(interactionId(held.id, 1), 'in time'));
      await advance(1_000);
      const id = interactionId(held.id);
      const answer = await store.executions.answer(answering(id, 'too late'));
      const why = 'answer-late';
      assert.deepEqual(answer, { kind: 'refused', why, id, status: 'timed-out' });
      assert.deepEqual(await statesOf(store, held.id), ['timed-out', 'closed', 'answered']);
      const { interaction, unit } = await mustFind(store, id);
      assert.deepEqual([interaction.late, unit?.settledAt], [1, now()]);
      assert.deepEqual(await lateValues(store, id), ['too late']);
      const [settlement, ...more] = await settlementsOf(store, held.id);
      assert.deepEqual([settlement?.status, settlement?.answers], ['timed-out', [[1, 'in time']]]);
      assert.deepEqual(more, []);
      const { status, readyAt } = await mustRead(store, held.id);
      assert.deepEqual([status, readyAt], ['queued', now()], 'it goes on without a sweep');
      const swept = await leavesUnchanged(store, () => store.executions.expireAwaits({ limit: 9 }));
      assert.deepEqual(swept, { settled: 0, started: 0, more: false });
    },
  },
  {
    upholds: 'W-5, W-6',
    name: 'if the unit has a default answer, a late answer is refused with the status answered',
    async run({ store, advance }) {
      const options = { timeoutMs: 1_000, defaultAnswer: payload('no') };
      const held = await parkedOn(store, await worker(store), options);
      await advance(2_000);
      const id = interactionId(held.id);
      const answer = await store.executions.answer(answering(id, 'yes'));
      const why = 'answer-late';
      assert.deepEqual(answer, { kind: 'refused', why, id, status: 'answered' });
      const [settlement] = await settlementsOf(store, held.id);
      assert.deepEqual(
        [settlement?.status, settlement?.answers, settlement?.default],
        ['answered', [], 'no'],
      );
    },
  },
  {
    upholds: 'W-5',
    name: 'an answer in the last millisecond is in time',
    async run({ store, advance }) {
      const held = await parkedOn(store, await worker(store), { timeoutMs: 1_000 });
      await advance(999);
      const answer = await store.executions.answer(answering(interactionId(held.id)));
      assert.deepEqual(answer, { kind: 'answered', settled: true });
    },
  },
  {
    upholds: 'W-5',
    name: 'late answers are kept oldest first, up to a limit, and counted beyond it',
    async run({ store, advance, now }) {
      const held = await parkedOn(store, await worker(store));
      const id = interactionId(held.id);
      await store.executions.cancelAwait({ project: PROJECT, id });
      const first = now();
      for (let nth = 0; nth < LATE_ANSWERS_MAX + 3; nth += 1) {
        await store.executions.answer(answering(id, nth, { actor: `answerer ${nth}` }));
        await advance(1);
      }
      const late = await store.executions.lateAnswers({ project: PROJECT, id });
      const text = payload(0);
      assert.deepEqual(late[0], { value: text, digest: text, actor: 'answerer 0', at: first });
      const kept = Array.from({ length: LATE_ANSWERS_MAX }, (_, nth) => nth);
      assert.deepEqual(await lateValues(store, id), kept);
      assert.equal((await mustFind(store, id)).interaction.late, LATE_ANSWERS_MAX + 3);
      assert.deepEqual(await store.executions.lateAnswers({ project: OTHER_PROJECT, id }), []);
    },
  },
  {
    upholds: 'W-7',
    name: 'a signed unit accepts answers by link only, and other answers leave no trace',
    async run({ store, advance }) {
      const options = { items: 2, signed: true, timeoutMs: 1_000 };
      const held = await parkedOn(store, await worker(store), options);
      const id = interactionId(held.id);
      const forged = async (value: string): Promise<void> => {
        for (const each of [id, interactionId(held.id, 1)]) {
          await expectRefusedUnchanged(store, 'link-required', () =>
            store.executions.answer(answering(each, value)),
          );
        }
      };
      await forged('yes');
      const byLink = answering(id, 'yes', { verified: true });
      assert.deepEqual(await store.executions.answer(byLink), { kind: 'answered', settled: false });
      // Neither the same answer, nor another one, nor a late one passes.
      await forged('yes');
      await forged('no');
      assert.equal((await store.executions.answer(byLink)).kind, 'existing');
      await advance(1_000);
      await forged('yes');
      await store.executions.expireAwaits({ limit: 9 });
      await forged('yes');
      const late = answering(interactionId(held.id, 1), 'yes', { verified: true });
      await expectLateByLink(store, late);
    },
  },
];

async function expectLateByLink(
  store: CoordinatorStore,
  request: ReturnType<typeof answering>,
): Promise<void> {
  const { id } = request;
  const why = 'answer-late';
  const answer = await store.executions.answer(request);
  assert.deepEqual(answer, { kind: 'refused', why, id, status: 'timed-out' });
  assert.deepEqual(await lateValues(store, id), ['yes']);
}
