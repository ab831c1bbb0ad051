// Concurrent clients. The first one wins, the others learn it, and the execution gets one message.

import assert from 'node:assert/strict';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind, whyOf } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  commanding,
  finishing,
  later,
  mustClaim,
  mustPark,
  mustRead,
  OTHER_PIPELINE,
  PROJECT,
  parking,
  running,
  statusOf,
  submitting,
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
  opening,
  parkedOn,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

const needs = 'two-clients';
const ROUNDS = 6;

/** Starts both calls, alternating which one is first. */
async function atOnce<One, Other>(
  round: number,
  one: () => Promise<One>,
  other: () => Promise<Other>,
): Promise<readonly [One, Other]> {
  if (round % 2 === 0) return Promise.all([one(), other()]);
  const [second, first] = await Promise.all([other(), one()]);
  return [first, second];
}

async function cancelAwaitOf(
  store: CoordinatorStore,
  id: ReturnType<typeof interactionId>,
): Promise<{ readonly kind: string }> {
  return store.executions.cancelAwait({ project: PROJECT, id });
}

export const awaitRaceCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-4',
    needs,
    name: 'when several answer at once, one wins, and the others get its actor and time',
    async run({ store, another }) {
      const stores = [store, await another()];
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id: execution } = await parkedOn(store, ann);
        const id = interactionId(execution);
        const answers = await Promise.all(
          Array.from({ length: 6 }, (_, nth) =>
            (stores[nth % 2] ?? store).executions.answer(answering(id, nth, { actor: `${nth}` })),
          ),
        );
        const winner = answers.findIndex(({ kind }) => kind === 'answered');
        const { interaction } = await mustFind(store, id);
        assert.equal(interaction.answer?.actor, `${winner}`);
        const conflict = { kind: 'refused', why: 'answer-conflict', id };
        const lost = { ...conflict, actor: `${winner}`, at: interaction.answer?.at };
        assert.deepEqual(
          answers.filter((_, nth) => nth !== winner),
          Array(5).fill(lost),
        );
        const [settlement, ...more] = await settlementsOf(store, execution);
        assert.deepEqual([settlement?.answers, more], [[[0, winner]], []]);
        await mustClaim(store, ann, execution);
      }
    },
  },
  {
    upholds: 'W-4, W-3',
    needs,
    name: 'the same answer from two clients at once counts once',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const held = await parkedOn(store, ann, { items: 2 });
        const request = answering(interactionId(held.id));
        const answers = await Promise.all([
          store.executions.answer(request),
          other.executions.answer(request),
        ]);
        assert.deepEqual(answers.map(({ kind }) => kind).toSorted(), ['answered', 'existing']);
        assert.deepEqual(await statesOf(store, held.id), ['open', 'answered', 'open']);
        assert.equal((await mustFind(store, interactionId(held.id))).unit?.answered, 1);
      }
    },
  },
  {
    upholds: 'W-3',
    needs,
    name: 'answers to all items at once settle the unit once, and all needed answers are kept',
    async run({ store, another }) {
      const stores = [store, await another()];
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const needed = round % 2 === 0 ? 8 : 5;
        const { id } = await parkedOn(store, ann, { items: 8, needed });
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, item) =>
            (stores[item % 2] ?? store).executions.answer(answering(interactionId(id, item), item)),
          ),
        );
        const won = answers.filter(({ kind }) => kind === 'answered');
        assert.equal(won.length, needed);
        assert.equal(won.filter((each) => 'settled' in each && each.settled).length, 1);
        assert.equal(answers.filter((each) => whyOf(each) === 'answer-late').length, 8 - needed);
        const [settlement, ...more] = await settlementsOf(store, id);
        assert.deepEqual([settlement?.answers.length, more], [needed, []]);
        await mustClaim(store, ann, id);
      }
    },
  },
  {
    upholds: 'W-6, W-5',
    needs,
    name: 'when a timeout and a late answer race, the unit settles once, with one message',
    async run({ store, another, advance }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id: execution } = await parkedOn(store, ann, { timeoutMs: 100 });
        await advance(100);
        const id = interactionId(execution);
        const [answer, expired] = await atOnce(
          round,
          () => store.executions.answer(answering(id, 'late')),
          () => other.executions.expireAwaits({ limit: 9 }),
        );
        assert.deepEqual(answer, {
          ...{ kind: 'refused', why: 'answer-late', id, status: 'timed-out' },
        });
        assert.ok(expired.settled <= 1);
        assert.equal((await settlementsOf(store, execution)).length, 1);
        assert.deepEqual(await lateValues(store, id), ['late']);
        await mustClaim(store, ann, execution);
      }
    },
  },
  {
    upholds: 'W-6',
    needs,
    name: 'several sweeps at once settle each unit once and start each reminder once',
    async run({ store, another, advance }) {
      const other = await another();
      const ann = await worker(store);
      const starts = [];
      for (let nth = 0; nth < 4; nth += 1) await parkedOn(store, ann, { timeoutMs: 100 });
      for (let nth = 0; nth < 4; nth += 1) {
        const start = submitting({ pipeline: OTHER_PIPELINE });
        starts.push(start.id);
        await parkedOn(store, ann, { reminders: [{ afterMs: 100, start }] });
      }
      await advance(100);
      const answers = await Promise.all(
        [store, other, store, other].map((each, nth) =>
          each.executions.expireAwaits({ limit: 2 + 3 * nth }),
        ),
      );
      answers.push(await store.executions.expireAwaits({ limit: 99 }));
      const sum = (of: 'settled' | 'started') =>
        answers.reduce((total, answer) => total + answer[of], 0);
      assert.deepEqual([sum('settled'), sum('started')], [4, 4]);
      for (const id of starts) assert.equal(await statusOf(store, id), 'queued');
    },
  },
  {
    upholds: 'W-8, W-5',
    needs,
    name: 'when an answer and a cancel of the await race, one settles the unit and the other is refused',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const held = await parkedOn(store, ann);
        const id = interactionId(held.id);
        const [answer, cancelled] = await atOnce(
          round,
          () => store.executions.answer(answering(id)),
          () => cancelAwaitOf(other, id),
        );
        const outcome = [whyOf(answer), whyOf(cancelled)].join();
        assert.ok(['answered,await-settled', 'answer-late,done'].includes(outcome), outcome);
        const [settlement, ...more] = await settlementsOf(store, held.id);
        const status = answer.kind === 'answered' ? 'answered' : 'cancelled';
        assert.deepEqual([settlement?.status, more], [status, []]);
        await mustClaim(store, ann, held.id);
      }
    },
  },
  {
    upholds: 'W-9, X-17',
    needs,
    name: 'when an answer and a cancel of the execution race, no await stays open',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const held = await parkedOn(store, ann, { items: 2 });
        await store.executions.answer(answering(interactionId(held.id, 1)));
        const [answer, cancelled] = await atOnce(
          round,
          () => store.executions.answer(answering(interactionId(held.id))),
          () => other.executions.cancel(commanding(held.id)),
        );
        expectKind(cancelled, 'done');
        assert.equal(await statusOf(store, held.id), 'cancelled');
        const states = await statesOf(store, held.id);
        if (answer.kind === 'answered') {
          assert.deepEqual(states, ['answered', 'answered', 'answered']);
        } else {
          assert.equal(whyOf(answer), 'answer-late');
          assert.deepEqual(states, ['cancelled', 'closed', 'answered']);
        }
      }
    },
  },
  {
    upholds: 'W-9, X-2',
    needs,
    name: 'when an answer and the end of the execution race, no await stays open',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const held = await mustOpen(store, await running(store, ann));
        const [finished, answer] = await atOnce(
          round,
          () => store.executions.finish(finishing(held, { leavesAwaits: true })),
          () => other.executions.answer(answering(interactionId(held.id))),
        );
        expectKind(finished, 'finished');
        const { inboxCount, status } = await mustRead(store, held.id);
        const isTaken = answer.kind === 'answered';
        assert.deepEqual([status, inboxCount], ['completed', isTaken ? 1 : 0]);
        const states = isTaken ? ['answered', 'answered'] : ['cancelled', 'closed'];
        assert.deepEqual(await statesOf(store, held.id), states);
      }
    },
  },
  {
    upholds: 'W-9, W-2',
    needs,
    name: 'when an early answer and the end of the execution race, no early answer is left',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const held = await running(store, ann);
        await mustPark(store, held);
        const [answer, cancelled] = await atOnce(
          round,
          () => other.executions.answer(answeringEarly(held.id)),
          () => store.executions.cancel(commanding(held.id)),
        );
        expectKind(cancelled, 'done');
        const isKept = answer.kind === 'kept';
        if (!isKept) assert.equal(whyOf(answer), 'await-unknown');
        const states = isKept ? ['none', 'closed'] : ['none'];
        assert.deepEqual(await statesOf(store, held.id), states);
      }
    },
  },
  {
    upholds: 'W-3, X-5, X-16',
    needs,
    name: 'an answer that races a park is seen before the park or wakes the execution after it',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const held = await mustOpen(store, await running(store, ann));
        const [parked, answer] = await atOnce(
          round,
          () => store.executions.park(parking(held)),
          () => other.executions.answer(answering(interactionId(held.id))),
        );
        assert.deepEqual(answer, { kind: 'answered', settled: true });
        const { status, inboxCount } = await mustRead(store, held.id);
        assert.equal(inboxCount, 1);
        if (parked.kind === 'parked') {
          assert.equal(status, 'queued');
          await mustClaim(store, ann, held.id);
        } else {
          assert.deepEqual([whyOf(parked), status], ['unread-messages', 'running']);
        }
      }
    },
  },
  {
    upholds: 'W-2, W-1',
    needs,
    name: 'an answer that races the opening of its unit counts once',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < ROUNDS; round += 1) {
        const held = await running(store, ann);
        const events = [OPENED, { kind: 'parked' }] as const;
        const awaits = [opening(held.id)];
        const open = (): Promise<{ readonly kind: string }> =>
          round % 3 === 0
            ? store.executions.record({ ...writing(held, OPENED), awaits })
            : store.executions.park({ ...parking(held, { events }), awaits });
        const [opened, answer] = await atOnce(round, open, () =>
          other.executions.answer(answeringEarly(held.id)),
        );
        assert.ok(opened.kind !== 'refused', JSON.stringify(opened));
        assert.ok(['kept', 'answered'].includes(answer.kind), JSON.stringify(answer));
        assert.deepEqual(await statesOf(store, held.id), ['answered', 'answered']);
        assert.equal((await settlementsOf(store, held.id)).length, 1);
        if (opened.kind === 'parked') await mustClaim(store, ann, held.id);
        else expectKind(await store.executions.finish(finishing(later(held))), 'finished');
      }
    },
  },
];
