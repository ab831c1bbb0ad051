import assert from 'node:assert/strict';
import type { TerminalStatus } from '../../../src/execution/execution.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  childOf,
  claimAll,
  claimIds,
  commanding,
  type Held,
  heldOf,
  later,
  mustClaim,
  mustFinish,
  mustRead,
  mustSubmit,
  OTHER_PIPELINE,
  payload,
  running,
  signalling,
  submitting,
  worker,
  writing,
} from '../worker.ts';
import { OWNER_VERBS } from './owner-verbs.ts';

const statuses: readonly TerminalStatus[] = [
  'completed',
  'failed',
  'cancelled',
  'quarantined',
  'compensated',
];

async function commandsAreRefused(store: CoordinatorStore, held: Pick<Held, 'id'>): Promise<void> {
  const { executions } = store;
  for (const operation of [
    () => executions.cancel(commanding(held.id)),
    () => executions.pause(commanding(held.id)),
    () => executions.resume(commanding(held.id)),
    () => executions.signal(signalling(held.id)),
  ]) {
    await expectRefusedUnchanged(store, 'already-ended', operation);
  }
}

export const terminalCases: readonly ExecutionCase[] = [
  ...statuses.map(
    (status): ExecutionCase => ({
      upholds: 'X-2',
      name: `nothing changes an execution that is ${status}`,
      async run({ store, advance }) {
        const ann = await worker(store);
        const held = await running(store, ann, { deadlineMs: 1_000 });
        await mustFinish(store, held, { status });
        const ended = await mustRead(store, held.id);
        assert.equal(ended.status, status);
        for (const { operation } of OWNER_VERBS) {
          await expectRefusedUnchanged(store, 'not-running', () => operation(store, later(held)));
        }
        await commandsAreRefused(store, held);
        await advance(2_000);
        assert.deepEqual(await leavesUnchanged(store, () => claimAll(store, ann)), []);
        const swept = await leavesUnchanged(store, () => store.executions.maintain({ limit: 10 }));
        assert.deepEqual(swept, { overdue: [], cancelled: 0, forgotten: 0, more: false });
        assert.deepEqual(await mustRead(store, held.id), ended);
      },
    }),
  ),
  {
    upholds: 'X-2, X-17',
    name: 'nothing changes an execution that was cancelled before its first claim',
    async run({ store }) {
      const ann = await worker(store);
      const id = await mustSubmit(store);
      expectKind(await store.executions.cancel(commanding(id)), 'done');
      await commandsAreRefused(store, { id });
      assert.deepEqual(await claimIds(store, ann), []);
    },
  },
  {
    upholds: 'X-2, X-14',
    name: 'a child that ends after its parent sends no message to it',
    async run({ store }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const children = ['child:ship#1', 'child:ship#2'].map((call) => childOf(parent.id, call));
      expectKind(
        await store.executions.record({
          ...writing(parent, { kind: 'child-spawned', name: 'ship' }),
          children,
        }),
        'recorded',
      );
      const [bare, detailed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(bare !== undefined && detailed !== undefined);
      await mustFinish(store, later(parent));
      const before = await mustRead(store, parent.id);
      await mustFinish(store, heldOf(bare, ann));
      await mustFinish(store, heldOf(detailed, ann), { outcome: payload({ status: 'completed' }) });
      assert.deepEqual(await mustRead(store, parent.id), before);
      assert.equal(before.inboxCount, 0);
    },
  },
  {
    upholds: 'X-2, X-10',
    name: 'submitting an ended execution again returns it and starts nothing',
    async run({ store }) {
      const ann = await worker(store);
      const request = submitting({ key: 'order-17', intent: 'a' });
      expectKind(await store.executions.submit(request), 'submitted');
      await mustFinish(store, await mustClaim(store, ann));
      const again = await leavesUnchanged(store, () => store.executions.submit(request));
      assert.deepEqual(again, { kind: 'submitted', id: request.id, existing: true });
      assert.deepEqual(await claimIds(store, ann), []);
    },
  },
];
