// Every call after the end is refused, and nothing stored changes (Y-20).

import assert from 'node:assert/strict';
import { TERMINAL, type TerminalStatus } from '../../../src/execution/execution.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
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
} from '../awaits/awaiting.ts';
import { AWAIT_VERBS } from '../awaits/outsiders.ts';
import { allHistory, allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import { OWNER_VERBS } from '../ownership/owner-verbs.ts';
import {
  childOf,
  claimAll,
  commanding,
  finishing,
  type Held,
  later,
  mustFinish,
  mustRead,
  running,
  signalling,
  submitting,
  worker,
  writing,
} from '../worker.ts';
import { COMPENSATING, letter, redriving, undoing } from './repairing.ts';

/**
 * Ends an execution that left a timed unit with one of two answers and reminders. `seq` is the next
 * event's.
 */
async function endedWithAwaits(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  status: TerminalStatus,
): Promise<Held> {
  const options = { deadlineMs: 100 };
  const held =
    status === 'compensated'
      ? await undoing(store, who, options)
      : await running(store, who, options);
  const reminders = [{ afterMs: 300, start: submitting() }];
  const opened = await mustOpen(store, held, { items: 2, timeoutMs: 500, reminders });
  await store.executions.answer(answering(interactionId(held.id), 'yes'));
  const isDead = status === 'failed' || status === 'quarantined';
  const deadLetter = isDead ? { deadLetter: letter() } : {};
  await mustFinish(store, opened, { status, leavesAwaits: true, ...deadLetter });
  return later(opened);
}

/** Sends every write of an owner, with everything that it can contain. */
async function ownersAreRefused(store: CoordinatorStore, held: Held): Promise<void> {
  const { executions } = store;
  const bytes = new Uint8Array([1, 2, 3]);
  const carried = {
    ...writing(held, OPENED),
    awaits: [opening(held.id, { call: OTHER_CALL })],
    children: [childOf(held.id, 'child:ship#1')],
    attachments: [{ name: 'receipt', type: 'text/plain', bytes }],
  };
  const operations = [
    ...OWNER_VERBS.map(
      ({ operation }) =>
        () =>
          operation(store, held),
    ),
    () => executions.record(carried),
    () => executions.park({ ...carried, wakeAfter: 0, inboxSeen: 9, compensable: true }),
    () => executions.giveBack({ ...carried, ...writing(held, COMPENSATING), compensating: true }),
    () => executions.finish(finishing(held, { status: 'failed', deadLetter: letter() })),
    () => executions.finish(finishing(held, { successor: submitting() })),
  ];
  for (const operation of operations) await expectRefusedUnchanged(store, 'not-running', operation);
}

async function outsidersAreRefused(store: CoordinatorStore, { id }: Held): Promise<void> {
  const { executions } = store;
  const open = interactionId(id, 1);
  for (const [why, operation] of [
    ['already-ended', () => executions.cancel(commanding(id))],
    ['already-ended', () => executions.pause(commanding(id))],
    ['already-ended', () => executions.resume(commanding(id))],
    ['already-ended', () => executions.signal(signalling(id))],
    ['answer-conflict', () => executions.answer(answering(interactionId(id), 'no'))],
    ['await-unknown', () => executions.answer(answeringEarly(id, 'yes', { call: OTHER_CALL }))],
    ['await-unknown', () => executions.answer(answeringEarly(id, 'yes', { item: 7 }))],
    ...Object.values(AWAIT_VERBS).map(
      (operation) => ['await-settled', () => operation(store, open)] as const,
    ),
  ] as const) {
    await expectRefusedUnchanged(store, why, operation);
  }
  const same = await leavesUnchanged(store, () =>
    executions.answer(answering(interactionId(id), 'yes')),
  );
  expectKind(same, 'existing');
}

export const terminalRepairCases: readonly ExecutionCase[] = (
  [...TERMINAL] as readonly TerminalStatus[]
).flatMap((status): readonly ExecutionCase[] => [
  {
    upholds: 'X-2, W-9, Y-20',
    name: `every write, command, answer and sweep leaves a ${status} execution as it is`,
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await endedWithAwaits(store, ann, status);
      const row = await mustRead(store, held.id);
      assert.equal(row.status, status);
      await ownersAreRefused(store, held);
      await outsidersAreRefused(store, held);
      await advance(1_000);
      assert.deepEqual(await leavesUnchanged(store, () => claimAll(store, ann)), []);
      const result = await leavesUnchanged(store, () => store.sessions.heartbeat(ann));
      assert.deepEqual([result.kind, 'notices' in result && result.notices], ['alive', 0]);
      for (const query of [{ limit: 9 }, { execution: held.id, limit: 9 }]) {
        const swept = await leavesUnchanged(store, () => store.executions.expireAwaits(query));
        assert.deepEqual(swept, { settled: 0, started: 0, more: false });
      }
      const swept = await leavesUnchanged(store, () => store.executions.maintain({ limit: 9 }));
      assert.deepEqual(swept, { overdue: [], cancelled: 0, forgotten: 0, more: false });
      assert.deepEqual(await mustRead(store, held.id), row);
    },
  },
  {
    upholds: 'X-2, W-5, Y-20',
    name: `late answers and re-drives are stored beside a ${status} execution, not in it`,
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await endedWithAwaits(store, ann, status);
      const { id } = held;
      const all = async (): Promise<unknown> => [
        await mustRead(store, id),
        await allHistory(store, id),
        await allMessages(store, id),
        (await mustFind(store, interactionId(id, 1))).unit,
      ];
      const before = await all();
      await advance(10);
      const late = await store.executions.answer(answering(interactionId(id, 1), 'late'));
      assert.deepEqual(late, {
        ...{ kind: 'refused', why: 'answer-late', id: interactionId(id, 1), status: 'cancelled' },
      });
      assert.deepEqual(await lateValues(store, interactionId(id, 1)), ['late']);
      const { interaction } = await mustFind(store, interactionId(id, 1));
      assert.deepEqual([interaction.status, interaction.answer], ['closed', undefined]);
      expectKind(await store.executions.redrive(redriving(id)), 'submitted');
      assert.deepEqual(await all(), before);
    },
  },
]);
