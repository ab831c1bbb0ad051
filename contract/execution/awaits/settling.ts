import assert from 'node:assert/strict';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  kindsOf,
  later,
  mustClaim,
  mustPark,
  mustRead,
  noticesOf,
  parking,
  payload,
  running,
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

const SETTLED = { kind: 'answered', settled: true };
const COUNTED = { kind: 'answered', settled: false };

export const settlingCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-3',
    name: 'one answer settles a scalar await, and the message has its value, actor and time',
    async run({ store, advance, now }) {
      const held = await parkedOn(store, await worker(store));
      await advance(10);
      const request = answering(interactionId(held.id), { ok: true }, { actor: 'olga' });
      assert.deepEqual(await store.executions.answer(request), SETTLED);
      const { interaction, unit } = await mustFind(store, interactionId(held.id));
      assert.deepEqual(interaction.answer, {
        ...{ value: request.value, digest: request.digest, actor: 'olga', at: now() },
      });
      assert.deepEqual([unit?.status, unit?.answered, unit?.settledAt], ['answered', 1, now()]);
      const [message] = await allMessages(store, held.id);
      assert.deepEqual(
        { ...message, body: JSON.parse(message?.body ?? '{}') },
        {
          ...{ n: 1, kind: 'await-settled', name: CALL, at: now() },
          body: {
            status: 'answered',
            answers: [{ item: 0, at: now(), out: { ok: true }, by: 'olga' }],
          },
        },
      );
    },
  },
  {
    upholds: 'W-3',
    name: 'all-of settles with the last answer; results are in the order of the items',
    async run({ store }) {
      const held = await parkedOn(store, await worker(store), { items: 4 });
      for (const item of [3, 0, 2]) {
        const answer = await store.executions.answer(
          answering(interactionId(held.id, item), `of ${item}`),
        );
        assert.deepEqual(answer, COUNTED);
        const { status, inboxCount } = await mustRead(store, held.id);
        assert.deepEqual([status, inboxCount], ['waiting', 0], 'not before all have come');
      }
      const last = answering(interactionId(held.id, 1), 'of 1');
      assert.deepEqual(await store.executions.answer(last), SETTLED);
      const answers = [0, 1, 2, 3].map((item) => [item, `of ${item}`]);
      assert.deepEqual(await settlementsOf(store, held.id), [
        { call: CALL, status: 'answered', answers },
      ]);
    },
  },
  {
    upholds: 'W-3',
    name: 'any-of settles with the first answer and closes the others',
    async run({ store }) {
      const held = await parkedOn(store, await worker(store), { items: 3, needed: 1 });
      const answer = await store.executions.answer(answering(interactionId(held.id, 1), 'mine'));
      assert.deepEqual(answer, SETTLED);
      assert.deepEqual(await statesOf(store, held.id), [
        ...['answered', 'closed', 'answered', 'closed'],
      ]);
      const [settlement] = await settlementsOf(store, held.id);
      assert.deepEqual(settlement?.answers, [[1, 'mine']]);
    },
  },
  {
    upholds: 'W-3',
    name: 'a quorum settles once it has enough answers, to any of its items',
    async run({ store }) {
      const held = await parkedOn(store, await worker(store), { items: 5, needed: 3 });
      for (const [item, expected] of [
        [4, COUNTED],
        [1, COUNTED],
        [2, SETTLED],
      ] as const) {
        const answer = await store.executions.answer(answering(interactionId(held.id, item), item));
        assert.deepEqual(answer, expected);
      }
      assert.deepEqual(await statesOf(store, held.id), [
        ...['answered', 'closed', 'answered', 'answered', 'closed', 'answered'],
      ]);
      const [settlement] = await settlementsOf(store, held.id);
      assert.deepEqual(
        settlement?.answers.map(([item]) => item),
        [1, 2, 4],
      );
    },
  },
  {
    upholds: 'W-3',
    name: 'an await of an empty list is settled as it opens',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const events = [OPENED, { kind: 'parked' }] as const;
      await mustPark(store, held, { events, awaits: [opening(held.id, { items: 0 })] });
      assert.deepEqual(await settlementsOf(store, held.id), [
        { call: CALL, status: 'answered', answers: [] },
      ]);
      assert.equal((await mustRead(store, held.id)).status, 'queued');
    },
  },
  {
    upholds: 'W-3, X-16',
    name: 'a settled unit wakes a waiting execution like a signal, whatever else the execution waits for',
    async run({ store, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const opened = await mustOpen(store, held);
      await mustPark(store, opened, { wakeAfter: 3, wakeInMs: 60_000 });
      await store.executions.answer(answering(interactionId(held.id)));
      const { status, readyAt, inboxCount } = await mustRead(store, held.id);
      assert.deepEqual([status, readyAt, inboxCount], ['queued', now(), 1]);
      assert.deepEqual(await kindsOf(store, held.id), [
        ...['submitted', 'claimed', 'await-opened', 'parked'],
      ]);
      const next = await mustClaim(store, ann, held.id);
      assert.deepEqual([next.claimed.previous, next.claimed.execution.inboxCount], ['parked', 1]);
    },
  },
  {
    upholds: 'W-3, X-18',
    name: 'a paused execution is woken and stays held until it is resumed',
    async run({ store }) {
      const ann = await worker(store);
      const held = await parkedOn(store, ann);
      await store.executions.pause(commanding(held.id));
      await store.executions.answer(answering(interactionId(held.id)));
      const { status, holds } = await mustRead(store, held.id);
      assert.deepEqual([status, holds], ['queued', ['paused']]);
      assert.deepEqual(await claimIds(store, ann), []);
      await store.executions.resume(commanding(held.id));
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'W-3, X-5',
    name: 'the owner of a running execution gets a notice and cannot park past the settled unit',
    async run({ store }) {
      const ann = await worker(store);
      const bob = await worker(store, 'bob');
      const held = await mustOpen(store, await running(store, ann), { items: 2 });
      const [before, others] = [await noticesOf(store, ann), await noticesOf(store, bob)];
      await store.executions.answer(answering(interactionId(held.id, 0)));
      assert.equal(await noticesOf(store, ann), before, 'no message yet');
      await store.executions.answer(answering(interactionId(held.id, 1)));
      assert.notEqual(await noticesOf(store, ann), before);
      assert.equal(await noticesOf(store, bob), others);
      await expectRefusedUnchanged(store, 'unread-messages', () =>
        store.executions.park(parking(held)),
      );
      await mustPark(store, held, { inboxSeen: 1 });
    },
  },
  {
    upholds: 'W-3, X-5',
    name: 'messages about the units of one execution come in the order in which they settled',
    async run({ store, advance }) {
      const held = await running(store, await worker(store));
      const awaits = [opening(held.id), opening(held.id, { call: OTHER_CALL })];
      await store.executions.record({ ...writing(held, OPENED, OPENED), awaits });
      await mustPark(store, later(held, 2));
      await store.executions.answer(answering(interactionId(held.id, 0, OTHER_CALL), 1));
      await advance(5);
      await store.executions.answer(answering(interactionId(held.id), 2));
      const calls = (await settlementsOf(store, held.id)).map(({ call }) => call);
      assert.deepEqual(calls, [OTHER_CALL, CALL]);
      assert.equal((await mustRead(store, held.id)).inboxCount, 2);
    },
  },
  {
    upholds: 'W-3, X-22',
    name: 'payloads are read back as they were sent',
    async run({ store }) {
      const held = await parkedOn(store, await worker(store));
      const value = { text: 'ünïcode \u{1f510} "quoted"\n', nested: [null, 0, -1.5, { a: [] }] };
      await store.executions.answer(
        answering(interactionId(held.id), value, { actor: '"o\'tto"' }),
      );
      const { interaction } = await mustFind(store, interactionId(held.id));
      assert.equal(interaction.answer?.value, payload(value));
      const [settlement] = await settlementsOf(store, held.id);
      assert.deepEqual(settlement?.answers, [[0, value]]);
    },
  },
];
