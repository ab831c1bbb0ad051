// Units and answers that stay as they are, whatever comes after, before or beside them.

import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { ended, letter, mustRedrive } from '../repair/repairing.ts';
import {
  claimIds,
  endSessionOf,
  finishing,
  mustRead,
  PROJECT,
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
  opening,
  parkedOn,
  settlementsOf,
  statesOf,
} from './awaiting.ts';

export const keepingCases: readonly ExecutionCase[] = [
  {
    upholds: 'W-1',
    name: 'a second write that opens an existing unit leaves the unit as it is',
    async run({ store }) {
      const ann = await worker(store);
      const held = await mustOpen(store, await running(store, ann), { items: 2 });
      const id = interactionId(held.id);
      await store.executions.answer(answering(id));
      const stored = await mustFind(store, id);
      await mustOpen(store, held, { items: 2, name: 'another', timeoutMs: 1_000 });
      assert.deepEqual(await mustFind(store, id), stored);
      assert.deepEqual(await statesOf(store, held.id), ['open', 'answered', 'open']);
    },
  },
  {
    upholds: 'W-9',
    name: 'a write that ends an execution opens no unit',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const awaits = [opening(held.id)];
      expectKind(await store.executions.finish({ ...finishing(held), awaits }), 'finished');
      assert.deepEqual(await statesOf(store, held.id), ['none']);
    },
  },
  {
    upholds: 'W-7',
    name: 'an answer keeps its verified mark, early or not',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.answer(answeringEarly(held.id, 'yes', { verified: true }));
      await mustOpen(store, held, { items: 2, signed: true });
      const second = answering(interactionId(held.id, 1), 'yes', { verified: true });
      await store.executions.answer(second);
      for (const item of [0, 1]) {
        const { interaction } = await mustFind(store, interactionId(held.id, item));
        assert.deepEqual([interaction.status, interaction.verified], ['answered', true]);
      }
    },
  },
  {
    upholds: 'W-10, W-2',
    name: 'an interaction with an early answer is found by the name of its unit',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.answer(answeringEarly(held.id));
      await mustOpen(store, held);
      const query = { project: PROJECT, name: 'approval', limit: 9 };
      const found = await store.executions.interactions(query);
      assert.deepEqual(
        found.map(({ interaction }) => interaction.id),
        [interactionId(held.id)],
      );
    },
  },
  {
    upholds: 'W-3, W-4',
    name: 'when two processes answer at once, one wins, and the owner gets one message',
    async run({ store, another }) {
      const other = await another();
      const held = await mustOpen(store, await running(store, await worker(store)));
      const id = interactionId(held.id);
      const answers = await Promise.all([
        store.executions.answer(answering(id, 'yes')),
        other.executions.answer(answering(id, 'no')),
      ]);
      const whats = answers.map((each) => (each.kind === 'refused' ? each.why : each.kind));
      assert.deepEqual(whats.sort(), ['answer-conflict', 'answered']);
      assert.equal((await settlementsOf(store, held.id)).length, 1);
      const recorded = expectKind(await store.executions.record(writing(held)), 'recorded');
      assert.equal(recorded.inboxCount, 1);
    },
  },
  {
    upholds: 'W-4, Y-20',
    name: 'the retention time of sessions removes no waiting execution and no dead letter',
    policy: { retentionMs: 1_000 },
    async run({ store, advance }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { deadLetter: letter() });
      const waiting = await parkedOn(store, ann);
      await endSessionOf(store, ann);
      for (let time = 0; time < 3; time += 1) {
        await advance(100_000);
        await store.sessions.sweep({ limit: 100 });
        await store.executions.maintain({ limit: 100 });
        await store.executions.expireAwaits({ limit: 100 });
      }
      const taken = await store.executions.answer(answering(interactionId(waiting.id)));
      assert.deepEqual(taken, { kind: 'answered', settled: true });
      assert.equal((await mustRead(store, waiting.id)).status, 'queued');
      assert.notEqual(await store.executions.deadLetter(old), undefined);
      const again = await mustRedrive(store, old);
      const bob = await worker(store, 'bob');
      assert.deepEqual((await claimIds(store, bob)).toSorted(), [waiting.id, again].toSorted());
    },
  },
  {
    upholds: 'W-1, W-3',
    name: 'in a unit of ten thousand items, one answer settles it and closes the others',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const awaits = [opening(held.id, { items: 10_000, needed: 1 })];
      const opened = { ...writing(held, OPENED), awaits };
      expectKind(await store.executions.record(opened), 'recorded');
      const answer = await store.executions.answer(answering(interactionId(held.id, 9_999)));
      assert.deepEqual(answer, { kind: 'answered', settled: true });
      const open = { project: PROJECT, execution: held.id, open: true, limit: 9 };
      assert.deepEqual(await store.executions.interactions(open), []);
      await store.executions.answer(answering(interactionId(held.id), 'late'));
      assert.deepEqual(await lateValues(store, interactionId(held.id)), ['late']);
    },
  },
];
