import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  commanding,
  later,
  mustClaim,
  mustPark,
  mustRead,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  parking,
  payload,
  running,
  transacting,
  worker,
  writing,
} from '../worker.ts';
import {
  answering,
  answeringEarly,
  answerOf,
  CALL,
  interactionId,
  lateValues,
  mustFind,
  mustOpen,
  OPENED,
  opening,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

export const earlyCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-2',
    name: 'an answer before its await is kept while the execution waits, runs or is queued',
    async run({ store, now }) {
      const ann = await worker(store);
      const waiting = await running(store, ann);
      await mustPark(store, waiting);
      const busy = await running(store, ann);
      const queued = await mustSubmit(store);
      for (const id of [waiting.id, busy.id, queued]) {
        const before = await mustRead(store, id);
        const answer = await store.executions.answer(answeringEarly(id, 'yes', { actor: 'olga' }));
        assert.deepEqual(answer, { kind: 'kept', settled: false });
        assert.deepEqual(await mustRead(store, id), before, 'the execution does not change');
        const { interaction, unit } = await mustFind(store, interactionId(id));
        const text = payload('yes');
        assert.deepEqual(interaction, {
          ...{ id: interactionId(id), execution: id, call: CALL, project: 'default', item: 0 },
          ...{ status: 'early', late: 0 },
          answer: { value: text, digest: text, actor: 'olga', at: now() },
        });
        assert.equal(unit, undefined);
      }
    },
  },
  {
    upholds: 'W-2, W-4',
    name: 'the first early answer is kept; an equal one returns existing, and a different one is a conflict',
    async run({ store, advance, now }) {
      const id = await mustSubmit(store);
      await store.executions.answer(answeringEarly(id, 'yes', { actor: 'olga' }));
      const at = now();
      await advance(10);
      for (const request of [answeringEarly(id), answering(interactionId(id))]) {
        const same = await leavesUnchanged(store, () => store.executions.answer(request));
        assert.deepEqual(same, { kind: 'existing', settled: false });
      }
      const other = await leavesUnchanged(store, () =>
        store.executions.answer(answeringEarly(id, 'no', { actor: 'otto' })),
      );
      const why = 'answer-conflict';
      assert.deepEqual(other, { kind: 'refused', why, id: interactionId(id), actor: 'olga', at });
    },
  },
  {
    upholds: 'W-2, W-3, X-5',
    name: 'opening a unit with an early answer settles it, and the reply to the write counts a new message',
    async run({ store, advance, now }) {
      const held = await running(store, await worker(store));
      await store.executions.answer(answeringEarly(held.id, 'yes'));
      const at = now();
      await advance(10);
      const request = { ...writing(held, OPENED), awaits: [opening(held.id)] };
      const answer = expectKind(await store.executions.record(request), 'recorded');
      assert.equal(answer.inboxCount, 1);
      const { interaction, unit } = await mustFind(store, interactionId(held.id));
      assert.deepEqual([interaction.status, interaction.answer?.at], ['answered', at]);
      assert.deepEqual(interaction.request, payload({ item: 0 }));
      assert.deepEqual([unit?.status, unit?.openedAt, unit?.settledAt], ['answered', now(), now()]);
      assert.deepEqual(await settlementsOf(store, held.id), [
        { call: CALL, status: 'answered', answers: [[0, 'yes']] },
      ]);
      const again = await leavesUnchanged(store, () => store.executions.record(request));
      assert.equal(expectKind(again, 'recorded').inboxCount, 1);
    },
  },
  {
    upholds: 'W-2, X-23',
    name: 'a transaction that opens a unit with an early answer counts a new message too',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.answer(answeringEarly(held.id, 'yes'));
      const request = { ...transacting(held, () => 7, OPENED), awaits: [opening(held.id)] };
      const answer = expectKind(await store.executions.transact(request), 'recorded');
      assert.deepEqual([answer.inboxCount, answer.result], [1, 7]);
    },
  },
  {
    upholds: 'W-2, X-16',
    name: 'an execution that parks on a unit with an early answer wakes at once',
    async run({ store, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.answer(answeringEarly(held.id, 'yes'));
      const events = [OPENED, { kind: 'parked' }] as const;
      await mustPark(store, held, { events, awaits: [opening(held.id)], wakeInMs: 5_000 });
      const { status, readyAt, inboxCount } = await mustRead(store, held.id);
      assert.deepEqual([status, readyAt, inboxCount], ['queued', now(), 1]);
      const again = await mustClaim(store, ann, held.id);
      assert.equal(again.claimed.previous, 'parked');
    },
  },
  {
    upholds: 'W-2',
    name: 'if early answers are too few, they count, and the unit waits for the rest',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.answer(answeringEarly(held.id, 'b', { item: 1 }));
      await mustOpen(store, held, { items: 3 });
      assert.deepEqual(await statesOf(store, held.id), ['open', 'open', 'answered', 'open']);
      await store.executions.answer(answering(interactionId(held.id, 2), 'c'));
      const last = await store.executions.answer(answering(interactionId(held.id, 0), 'a'));
      assert.deepEqual(last, { kind: 'answered', settled: true });
      const [settlement] = await settlementsOf(store, held.id);
      assert.deepEqual(settlement?.answers, [
        [0, 'a'],
        [1, 'b'],
        [2, 'c'],
      ]);
    },
  },
  {
    upholds: 'W-2, W-5',
    name: 'if early answers are too many, the first count and the others are late',
    async run({ store, advance }) {
      const held = await running(store, await worker(store));
      for (const item of [2, 0, 1]) {
        await store.executions.answer(answeringEarly(held.id, item, { item }));
        await advance(10);
      }
      await mustOpen(store, held, { items: 4, needed: 2 });
      const states = ['answered', 'answered', 'closed', 'answered', 'closed'];
      assert.deepEqual(await statesOf(store, held.id), states);
      const [settlement] = await settlementsOf(store, held.id);
      assert.deepEqual(settlement?.answers, [
        [0, 0],
        [2, 2],
      ]);
      const late = interactionId(held.id, 1);
      const { interaction } = await mustFind(store, late);
      assert.deepEqual([interaction.late, answerOf(interaction)], [1, undefined]);
      assert.deepEqual(await lateValues(store, late), [1]);
    },
  },
  {
    upholds: 'W-2',
    name: 'an early answer to an unknown, ended or foreign execution is refused',
    async run({ store }) {
      const other = await mustSubmit(store, { project: OTHER_PROJECT });
      const ended = await mustSubmit(store);
      await store.executions.cancel(commanding(ended));
      const open = await mustSubmit(store);
      const requests = [
        ...[nextId(), other, ended].map((id: ExecutionId) => answeringEarly(id)),
        // Without a place, the store cannot assign the answer to an execution.
        answering(interactionId(open)),
      ];
      for (const request of requests) {
        await expectRefusedUnchanged(store, 'await-unknown', () =>
          store.executions.answer(request),
        );
      }
    },
  },
  {
    upholds: 'W-2',
    name: 'an early answer to an item that the opened unit does not have is refused as unknown',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await mustOpen(store, held, { items: 2 });
      await expectRefusedUnchanged(store, 'await-unknown', () =>
        store.executions.answer(answeringEarly(held.id, 'yes', { item: 2 })),
      );
    },
  },
  {
    upholds: 'W-2, W-7',
    name: 'a signed unit uses only the early answers that came by link',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.answer(answeringEarly(held.id, 'forged'));
      const byLink = { item: 1, verified: true };
      await store.executions.answer(answeringEarly(held.id, 'true', byLink));
      const opened = await mustOpen(store, held, { items: 2, signed: true });
      assert.deepEqual(await statesOf(store, held.id), ['open', 'open', 'answered']);
      const { interaction } = await mustFind(store, interactionId(held.id));
      assert.deepEqual([answerOf(interaction), interaction.late], [undefined, 0]);
      assert.deepEqual(await lateValues(store, interactionId(held.id)), []);
      const verified = answering(interactionId(held.id), 'yes', { verified: true });
      assert.deepEqual(await store.executions.answer(verified), {
        kind: 'answered',
        settled: true,
      });
      await expectRefusedUnchanged(store, 'unread-messages', () =>
        store.executions.park(parking(opened)),
      );
    },
  },
  {
    upholds: 'W-2, W-1',
    name: 'an early answer outlives its owner and is there for the next owner',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.answer(answeringEarly(held.id, 'yes'));
      await mustPark(store, held, { wakeInMs: 0 });
      const next = await mustClaim(store, ann, held.id);
      await mustOpen(store, next);
      assert.equal((await settlementsOf(store, held.id)).length, 1);
      await mustPark(store, later(next), { inboxSeen: 1 });
    },
  },
];
