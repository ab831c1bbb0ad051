// A compensable execution that no worker runs (Y-3).

import assert from 'node:assert/strict';
import type { NewEvent } from '../../../src/execution/history.ts';
import type { CoordinatorStore, Submit } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import { interactionId, mustOpen, statesOf } from '../awaits/awaiting.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
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
  mustPark,
  mustRead,
  mustSubmit,
  OTHER_PIPELINE,
  PROJECT,
  running,
  statusOf,
  worker,
  writing,
} from '../worker.ts';

/** Parks with something to compensate. */
async function parkedCompensable(
  store: CoordinatorStore,
  who: Pick<OpenedSession, 'id'>,
  options: Partial<Submit> = {},
): Promise<Held> {
  const held = await running(store, who, options);
  await mustPark(store, held, { compensable: true, wakeAfter: 2 });
  return later(held);
}

async function givenBackCompensable(
  store: CoordinatorStore,
  held: Held,
  options: { readonly delayMs?: number; readonly blocked?: boolean } = {},
): Promise<void> {
  const kind: NewEvent['kind'] = options.blocked === true ? 'blocked' : 'given-back';
  const request = { ...writing(held, { kind }), compensable: true, ...options };
  expectKind(await store.executions.giveBack(request), 'given-back');
}

/**
 * Asserts that the execution is queued, ready now and compensating. Returns the body of the last
 * event.
 */
async function expectTurnedBack(
  store: CoordinatorStore,
  { id, seq }: Pick<Held, 'id' | 'seq'>,
  at: number,
): Promise<Record<string, unknown>> {
  const row = await mustRead(store, id);
  assert.deepEqual(
    [row.status, row.readyAt, row.compensating, row.compensable, row.deadlineAt, row.wakeAfter],
    ['queued', at, true, false, undefined, 0],
  );
  const [event, ...more] = await store.executions.history({ id, after: seq - 1, limit: 9 });
  assert.deepEqual([event?.kind, event?.at, event?.fence], ['compensating', at, undefined]);
  assert.deepEqual([row.seq, more], [seq, []]);
  return JSON.parse(event?.body ?? '{}');
}

export const turningBackCases: readonly ExecutionCase[] = [
  {
    upholds: 'Y-3, X-17, Y-8',
    name: 'a cancel of a waiting execution with compensations makes it compensate',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const held = await parkedCompensable(store, ann);
      await advance(10);
      const request = commanding(held.id);
      const result = await store.executions.cancel(request);
      assert.deepEqual(result, { kind: 'done', status: 'queued' });
      assert.deepEqual(await expectTurnedBack(store, held, now()), {
        ...{ status: 'cancelled', asked: JSON.parse(request.body) },
      });
      const again = await leavesUnchanged(store, () => store.executions.cancel(request));
      assert.deepEqual(again, { kind: 'no-change', status: 'queued' });
      const next = await mustClaim(store, ann, held.id);
      assert.equal(next.claimed.execution.compensating, true);
    },
  },
  {
    upholds: 'Y-3, X-17, Y-8',
    name: 'a cancel makes a queued execution with compensations compensate at once, despite its delay',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await givenBackCompensable(store, held, { delayMs: 60_000 });
      await advance(10);
      expectKind(await store.executions.cancel(commanding(held.id)), 'done');
      await expectTurnedBack(store, later(held), now());
      const next = await mustClaim(store, ann, held.id);
      assert.equal(next.claimed.previous, 'given-back');
    },
  },
  {
    upholds: 'Y-3, X-18, Y-8',
    name: 'a cancelled execution with compensations compensates but stays paused or blocked',
    async run({ store, now }) {
      const ann = await worker(store);
      const paused = await parkedCompensable(store, ann);
      await store.executions.pause(commanding(paused.id));
      const blocked = await running(store, ann);
      await givenBackCompensable(store, blocked, { blocked: true });
      for (const [held, hold] of [
        [later(paused), 'paused'],
        [later(blocked), 'blocked'],
      ] as const) {
        expectKind(await store.executions.cancel(commanding(held.id)), 'done');
        await expectTurnedBack(store, held, now());
        assert.deepEqual((await mustRead(store, held.id)).holds, [hold]);
        assert.deepEqual(await claimIds(store, ann), []);
        await store.executions.resume(commanding(held.id));
        await mustClaim(store, ann, held.id);
      }
    },
  },
  {
    upholds: 'Y-3, X-20, Y-8',
    name: 'a passed deadline makes an execution compensate once, with that cause and without a dead letter',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const waiting = await parkedCompensable(store, ann, { deadlineMs: 1_000 });
      const queued = await running(store, ann, { deadlineMs: 1_000 });
      await givenBackCompensable(store, queued, { delayMs: 60_000 });
      await advance(1_000);
      const { overdue } = await store.executions.maintain({ limit: 9 });
      assert.deepEqual(overdue.toSorted(), [waiting.id, queued.id].toSorted());
      for (const held of [waiting, later(queued)]) {
        const cause = await expectTurnedBack(store, held, now());
        const { code, category } = cause['failure'] as Record<string, unknown>;
        assert.deepEqual(
          [cause['status'], code, category],
          ['failed', 'deadline-passed', 'permanent'],
        );
        assert.equal(await store.executions.deadLetter(held.id), undefined);
      }
      await advance(1_000);
      const again = await leavesUnchanged(store, () => store.executions.maintain({ limit: 9 }));
      assert.deepEqual(again, { overdue: [], cancelled: 0, forgotten: 0, more: false });
      assert.equal((await claimAll(store, ann)).length, 2);
    },
  },
  {
    upholds: 'Y-3, X-14, X-12',
    name: 'a compensating execution has not ended: its parent, children and slot stay as they are',
    async run({ store }) {
      const ann = await worker(store);
      const top = await running(store, ann);
      const key = { concurrency: { key: 'k', limit: 1 } };
      const children = [childOf(top.id, 'child:order#1', { ...key })];
      await store.executions.record({ ...writing(top, { kind: 'child-spawned' }), children });
      const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claimed !== undefined);
      const held = heldOf(claimed, ann);
      const below = [childOf(held.id, 'child:ship#1')];
      await store.executions.record({
        ...writing(held, { kind: 'child-spawned' }),
        children: below,
      });
      await mustPark(store, later(held), { compensable: true });
      const behind = await mustSubmit(store, key);
      expectKind(await store.executions.cancel(commanding(held.id)), 'done');
      assert.deepEqual(await allMessages(store, top.id), []);
      assert.equal((await store.executions.maintain({ limit: 9 })).cancelled, 0);
      const { hasSlot, compensating } = await mustRead(store, held.id);
      assert.deepEqual([hasSlot, compensating], [true, true]);
      assert.deepEqual((await mustRead(store, behind)).holds, ['concurrency-limit']);
    },
  },
  {
    upholds: 'Y-3, W-9',
    name: 'a compensating execution keeps its awaits open until it ends',
    async run({ store }) {
      const ann = await worker(store);
      const opened = await mustOpen(store, await running(store, ann));
      await mustPark(store, opened, { compensable: true });
      await store.executions.cancel(commanding(opened.id));
      assert.deepEqual(await statesOf(store, opened.id), ['open', 'open']);
      const next = await mustClaim(store, ann, opened.id);
      await mustFinish(store, next, { status: 'compensated', leavesAwaits: true });
      assert.deepEqual(await statesOf(store, opened.id), ['cancelled', 'closed']);
      const query = { project: PROJECT, id: interactionId(opened.id) };
      const found = await store.executions.interaction(query);
      assert.equal(found?.unit?.settledAt, (await mustRead(store, opened.id)).endedAt);
    },
  },
  {
    upholds: 'Y-3, X-20',
    name: 'a child with compensations gets one cancel when its parent has ended, and compensates',
    async run({ store, now }) {
      const ann = await worker(store);
      const top = await running(store, ann);
      const children = [childOf(top.id, 'child:order#1')];
      await store.executions.record({ ...writing(top, { kind: 'child-spawned' }), children });
      const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claimed !== undefined);
      const held = heldOf(claimed, ann);
      await mustPark(store, held, { compensable: true });
      await mustFinish(store, later(top), { status: 'failed' });
      const first = await store.executions.maintain({ limit: 9 });
      assert.deepEqual([first.cancelled, first.more], [1, false]);
      const cause = await expectTurnedBack(store, later(held), now());
      assert.deepEqual(cause, {
        ...{ status: 'cancelled', asked: { by: 'holdfast', reason: 'parent-ended' } },
      });
      const second = await leavesUnchanged(store, () => store.executions.maintain({ limit: 9 }));
      assert.deepEqual([second.cancelled, second.more], [0, false]);
    },
  },
  {
    upholds: 'Y-3, X-17',
    name: 'an execution without compensations is cancelled, or fails by its deadline, as usual',
    async run({ store, advance }) {
      const ann = await worker(store);
      const cancelled = await parkedCompensable(store, ann);
      await store.executions.signal({ ...commanding(cancelled.id), name: 'go' });
      const next = await mustClaim(store, ann, cancelled.id);
      await mustPark(store, next, { inboxSeen: 1 });
      expectKind(await store.executions.cancel(commanding(cancelled.id)), 'done');
      assert.equal(await statusOf(store, cancelled.id), 'cancelled');
      const overdue = await running(store, ann, { deadlineMs: 100 });
      await mustPark(store, overdue);
      await advance(100);
      await store.executions.maintain({ limit: 9 });
      assert.equal(await statusOf(store, overdue.id), 'failed');
    },
  },
  {
    upholds: 'Y-3, X-17',
    needs: 'two-clients',
    name: 'when cancels and sweeps race, one starts compensation, with one event',
    async run({ store, another, advance }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < 6; round += 1) {
        const held = await parkedCompensable(store, ann, { deadlineMs: 100 });
        await advance(100);
        const operations = [
          () => store.executions.cancel(commanding(held.id)),
          () => other.executions.maintain({ limit: 9 }),
          () => other.executions.cancel(commanding(held.id)),
        ];
        await Promise.all(
          (round % 2 === 0 ? operations : operations.toReversed()).map((operation) => operation()),
        );
        const events = await store.executions.history({ id: held.id, after: 3, limit: 9 });
        assert.deepEqual(
          events.map(({ kind }) => kind),
          ['compensating'],
        );
        const next = await mustClaim(store, ann, held.id);
        await mustFinish(store, next, { status: 'compensated' });
      }
    },
  },
];
