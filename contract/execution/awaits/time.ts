import assert from 'node:assert/strict';
import type { Reminder } from '../../../src/features/awaits/model.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  later,
  mustClaim,
  mustPark,
  mustRead,
  noticesOf,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  submitting,
  worker,
  writing,
} from '../worker.ts';
import {
  answering,
  CALL,
  interactionId,
  mustFind,
  mustOpen,
  OPENED,
  OTHER_CALL,
  opening,
  parkedOn,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

const NOTHING = { settled: 0, started: 0, more: false };

function reminding(...times: readonly number[]): readonly Reminder[] {
  return times.map((afterMs) => ({ afterMs, start: submitting({ pipeline: OTHER_PIPELINE }) }));
}

export const timeCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-6, X-16',
    name: 'a unit times out at its millisecond, closes, sends a message and wakes the execution',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const held = await parkedOn(store, ann, { items: 2, timeoutMs: 1_000 });
      await store.executions.answer(answering(interactionId(held.id, 1), 'in time'));
      await advance(999);
      const early = await leavesUnchanged(store, () => store.executions.expireAwaits({ limit: 9 }));
      assert.deepEqual(early, { ...NOTHING, nextInMs: 1 });
      await advance(1);
      const answer = await store.executions.expireAwaits({ limit: 9 });
      assert.deepEqual(answer, { settled: 1, started: 0, more: false });
      assert.deepEqual(await statesOf(store, held.id), ['timed-out', 'closed', 'answered']);
      const { unit } = await mustFind(store, interactionId(held.id));
      assert.deepEqual([unit?.settledAt, unit?.nextAt], [now(), undefined]);
      assert.deepEqual(await settlementsOf(store, held.id), [
        { call: CALL, status: 'timed-out', answers: [[1, 'in time']] },
      ]);
      const { status, readyAt } = await mustRead(store, held.id);
      assert.deepEqual([status, readyAt], ['queued', now()]);
      const again = await leavesUnchanged(store, () => store.executions.expireAwaits({ limit: 9 }));
      assert.deepEqual(again, NOTHING);
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'W-6',
    name: 'at the timeout a default answer settles the unit, and the message keeps earlier answers',
    async run({ store, advance }) {
      const options = { items: 3, timeoutMs: 1_000, defaultAnswer: payload({ ok: false }) };
      const held = await parkedOn(store, await worker(store), options);
      await store.executions.answer(answering(interactionId(held.id, 2), 'in time'));
      await advance(1_000);
      assert.equal((await store.executions.expireAwaits({ limit: 9 })).settled, 1);
      const states = ['answered', 'closed', 'closed', 'answered'];
      assert.deepEqual(await statesOf(store, held.id), states);
      assert.deepEqual(await settlementsOf(store, held.id), [
        { call: CALL, status: 'answered', answers: [[2, 'in time']], default: { ok: false } },
      ]);
    },
  },
  {
    upholds: 'W-6',
    name: 'the default answer is not used if the answers came in time',
    async run({ store, advance }) {
      const options = { timeoutMs: 1_000, defaultAnswer: payload('no') };
      const held = await parkedOn(store, await worker(store), options);
      await store.executions.answer(answering(interactionId(held.id), 'yes'));
      await advance(1_000);
      assert.deepEqual(await store.executions.expireAwaits({ limit: 9 }), NOTHING);
      assert.deepEqual(await settlementsOf(store, held.id), [
        { call: CALL, status: 'answered', answers: [[0, 'yes']] },
      ]);
    },
  },
  {
    upholds: 'W-6, X-5',
    name: 'the owner of a running execution gets a message and a notice about a timeout',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await mustOpen(store, await running(store, ann), { timeoutMs: 100 });
      const before = await noticesOf(store, ann);
      await advance(100);
      await store.executions.expireAwaits({ execution: held.id, limit: 9 });
      assert.notEqual(await noticesOf(store, ann), before);
      const [message] = await allMessages(store, held.id);
      assert.deepEqual([message?.kind, message?.name], ['await-settled', CALL]);
    },
  },
  {
    upholds: 'W-6',
    name: 'a sweep for one execution settles only its units; a sweep for all settles those of every project',
    async run({ store, advance }) {
      const ann = await worker(store);
      const one = await parkedOn(store, ann, { timeoutMs: 100 });
      const two = await running(store, ann);
      const awaits = [CALL, OTHER_CALL].map((call) => opening(two.id, { call, timeoutMs: 50 }));
      await store.executions.record({ ...writing(two, OPENED, OPENED), awaits });
      await mustPark(store, later(two, 2));
      const other = await running(store, ann, { project: OTHER_PROJECT });
      await mustPark(store, await mustOpen(store, other, { timeoutMs: 70 }));
      await advance(100);
      const own = await store.executions.expireAwaits({ execution: two.id, limit: 9 });
      assert.deepEqual([own.settled, own.more], [2, false]);
      assert.equal((await settlementsOf(store, two.id)).length, 2);
      assert.equal((await settlementsOf(store, one.id)).length, 0);
      const all = await store.executions.expireAwaits({ limit: 9 });
      assert.deepEqual(all, { settled: 2, started: 0, more: false });
      assert.equal((await settlementsOf(store, other.id)).length, 1);
    },
  },
  {
    upholds: 'W-6',
    name: 'a sweep settles due units a page at a time, and returns when the next is due',
    async run({ store, advance }) {
      const ann = await worker(store);
      for (let nth = 0; nth < 7; nth += 1) await parkedOn(store, ann, { timeoutMs: 100 });
      await parkedOn(store, ann, { timeoutMs: 500 });
      await advance(200);
      const pages = [];
      for (let calls = 0; calls < 9; calls += 1) {
        const page = await store.executions.expireAwaits({ limit: 3 });
        pages.push(page.settled);
        if (page.more) continue;
        assert.equal(page.nextInMs, 300);
        break;
      }
      assert.deepEqual(pages, [3, 3, 1]);
    },
  },
  {
    upholds: 'W-6, X-96',
    name: 'if more units are due than one sweep settles, their projects take turns',
    async run({ store, advance }) {
      const ann = await worker(store);
      for (let nth = 0; nth < 7; nth += 1) await parkedOn(store, ann, { timeoutMs: 100 });
      const other = await running(store, ann, { project: OTHER_PROJECT });
      await mustPark(store, await mustOpen(store, other, { timeoutMs: 150 }));
      await advance(200);
      const page = await store.executions.expireAwaits({ limit: 3 });
      assert.deepEqual([page.settled, page.more], [3, true]);
      assert.equal((await settlementsOf(store, other.id)).length, 1);
    },
  },
  {
    upholds: 'W-6, W-13',
    name: 'reminders start at their times, each once, while the unit is open',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const reminders = reminding(100, 300);
      const [first, second] = reminders.map(({ start }) => start);
      const held = await parkedOn(store, ann, { reminders, timeoutMs: 1_000 });
      const expire = () => store.executions.expireAwaits({ limit: 9 });
      assert.deepEqual(await expire(), { ...NOTHING, nextInMs: 100 });
      await advance(100);
      assert.deepEqual(await expire(), { settled: 0, started: 1, more: false, nextInMs: 200 });
      const started = await mustRead(store, first?.id ?? held.id);
      const { status, pipeline, submittedAt } = started;
      assert.deepEqual([status, pipeline, submittedAt], ['queued', OTHER_PIPELINE, now()]);
      assert.deepEqual(await leavesUnchanged(store, expire), { ...NOTHING, nextInMs: 200 });
      await advance(200);
      assert.deepEqual(await expire(), { settled: 0, started: 1, more: false, nextInMs: 700 });
      await mustRead(store, second?.id ?? held.id);
      const { unit } = await mustFind(store, interactionId(held.id));
      assert.deepEqual([unit?.reminders, unit?.status], [[], 'open']);
      assert.equal((await mustRead(store, held.id)).status, 'waiting', 'reminders do not wake');
    },
  },
  {
    upholds: 'W-6, W-13',
    name: 'if several reminders are due, only the last one starts',
    async run({ store, advance }) {
      const reminders = reminding(100, 200, 300, 900);
      const held = await parkedOn(store, await worker(store), { reminders });
      await advance(350);
      const answer = await store.executions.expireAwaits({ execution: held.id, limit: 9 });
      assert.deepEqual(answer, { settled: 0, started: 1, more: false, nextInMs: 550 });
      const found = [];
      for (const { start } of reminders) found.push(await store.executions.read(start.id));
      assert.deepEqual(
        found.map((each) => each !== undefined),
        [false, false, true, false],
      );
      const { unit } = await mustFind(store, interactionId(held.id));
      assert.deepEqual(unit?.reminders, reminders.slice(3));
    },
  },
  {
    upholds: 'W-6, W-13',
    name: 'no reminder starts for a settled or timed-out unit',
    async run({ store, advance }) {
      const ann = await worker(store);
      const answered = await parkedOn(store, ann, { reminders: reminding(100) });
      await parkedOn(store, ann, { reminders: reminding(100), timeoutMs: 200 });
      await store.executions.answer(answering(interactionId(answered.id)));
      await advance(200);
      const answer = await store.executions.expireAwaits({ limit: 9 });
      assert.deepEqual(answer, { settled: 1, started: 0, more: false });
      const query = { project: PROJECT, pipeline: OTHER_PIPELINE, limit: 9 };
      assert.deepEqual((await store.executions.find(query)).ids, []);
    },
  },
];
