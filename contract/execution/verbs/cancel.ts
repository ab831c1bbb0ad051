import assert from 'node:assert/strict';
import { SCOPE_CALL } from '../../../src/execution/execution.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  later,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustRecord,
  mustSubmit,
  noticesOf,
  running,
  step,
  worker,
  writing,
} from '../worker.ts';

export const cancelCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-17',
    name: 'queued, delayed, paused, blocked and waiting executions are cancelled at once',
    async run({ store, now }) {
      const ann = await worker(store);
      const { executions } = store;
      const queued = await running(store, ann);
      await mustGiveBack(store, queued);
      const cancel = async (id: typeof queued.id): Promise<void> => {
        const request = commanding(id);
        const before = await mustRead(store, id);
        const result = await executions.cancel(request);
        assert.deepEqual(result, { kind: 'done', status: 'cancelled' });
        const seq = before.seq + 1;
        const { status, endedAt, readyAt, holds } = await mustRead(store, id);
        assert.deepEqual([status, endedAt, readyAt, holds], ['cancelled', now(), undefined, []]);
        const [last] = await executions.history({ id, after: before.seq, limit: 9 });
        assert.deepEqual(last, { seq, at: now(), kind: 'cancelled', body: request.body });
      };
      await cancel(queued.id);
      await cancel(await mustSubmit(store, { delayMs: 1_000 }));
      const paused = await mustSubmit(store);
      await executions.pause(commanding(paused));
      await cancel(paused);
      const blocked = await running(store, ann);
      const events = [{ kind: 'blocked' }] as const;
      await executions.giveBack({ ...blocked, events, blocked: true });
      await cancel(blocked.id);
      const waiting = await running(store, ann);
      await mustPark(store, waiting, { wakeInMs: 100 });
      await cancel(waiting.id);
      assert.deepEqual(await claimIds(store, ann), []);
    },
  },
  {
    upholds: 'X-17, X-5, X-74',
    name: 'a cancel of a running execution sends one message, and its session gets a notice',
    async run({ store, now }) {
      const ann = await worker(store);
      const bob = await worker(store, 'bob');
      const held = await running(store, ann);
      const [before, others] = [await noticesOf(store, ann), await noticesOf(store, bob)];
      const request = commanding(held.id);
      const result = await store.executions.cancel(request);
      assert.deepEqual(result, { kind: 'forwarded', status: 'running' });
      assert.notEqual(await noticesOf(store, ann), before);
      assert.equal(await noticesOf(store, bob), others);
      assert.deepEqual(await allMessages(store, held.id), [
        { n: 1, kind: 'cancel', body: request.body, at: now() },
      ]);
      const again = await leavesUnchanged(store, () => store.executions.cancel(request));
      assert.deepEqual(again, { kind: 'no-change', status: 'running' });
      await mustFinish(store, held, { status: 'cancelled' });
    },
  },
  {
    upholds: 'X-17',
    name: 'a cancel that the owner did not act on before its give-back ends the execution when repeated',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.cancel(commanding(held.id));
      await mustGiveBack(store, held);
      const result = await store.executions.cancel(commanding(held.id));
      assert.deepEqual(result, { kind: 'done', status: 'cancelled' });
    },
  },
  {
    upholds: 'X-17',
    name: 'the next owner finds a cancel in the inbox',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.cancel(commanding(held.id));
      await mustGiveBack(store, held);
      const next = await mustClaim(store, ann, held.id);
      assert.equal(next.claimed.execution.inboxCount, 1);
      const again = await store.executions.cancel(commanding(held.id));
      assert.equal(again.kind, 'no-change');
    },
  },
  {
    upholds: 'X-116, X-16',
    name: 'a cancel of an execution that waits in a scope wakes it with a message',
    async run({ store, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const heartbeats = [{ key: SCOPE_CALL, attempt: 1, at: now() }];
      await mustPark(store, held, { heartbeats, compensable: true, wakeInMs: 1_000 });
      const request = commanding(held.id);
      const result = await store.executions.cancel(request);
      assert.deepEqual(result, { kind: 'forwarded', status: 'queued' });
      const again = await leavesUnchanged(store, () => store.executions.cancel(request));
      assert.deepEqual(again, { kind: 'no-change', status: 'queued' });
      assert.deepEqual(await allMessages(store, held.id), [
        { n: 1, kind: 'cancel', body: request.body, at: now() },
      ]);
      const next = await mustClaim(store, ann, held.id);
      assert.deepEqual(next.claimed.execution.heartbeats, heartbeats);
      // Code that has left its scopes is cancelled at once, after its compensations.
      await mustPark(store, later(next, 0), { heartbeats: [], inboxSeen: 1 });
      const ended = await store.executions.cancel(commanding(held.id));
      assert.deepEqual(ended, { kind: 'done', status: 'cancelled' });
    },
  },
  {
    upholds: 'X-118, X-1, X-14',
    name: 'a forced cancel ends a running execution, and its owner is refused',
    async run({ store, now }) {
      const ann = await worker(store);
      const concurrency = { key: 'one', limit: 1 };
      const id = await mustSubmit(store, { concurrency });
      const held = await mustClaim(store, ann, id);
      const waiting = await mustSubmit(store, { concurrency });
      await mustRecord(store, held, step('pay', { saga: true }));
      const notices = await noticesOf(store, ann);
      const request = commanding(id);
      const result = await store.executions.cancel({ ...request, force: true });
      assert.deepEqual(result, { kind: 'done', status: 'cancelled' });
      const row = await mustRead(store, id);
      assert.deepEqual(
        [row.status, row.endedAt, row.session, row.compensable],
        ['cancelled', now(), undefined, false],
      );
      const history = await store.executions.history({ id, after: row.seq - 1, limit: 9 });
      assert.deepEqual(history, [{ seq: 4, at: now(), kind: 'cancelled', body: request.body }]);
      assert.notEqual(await noticesOf(store, ann), notices);
      assert.equal((await allMessages(store, id)).at(-1)?.kind, 'cancel');
      const late = await leavesUnchanged(store, () =>
        store.executions.record(writing(later(held), step('ship'))),
      );
      assert.deepEqual([late.kind, 'why' in late && late.why], ['refused', 'not-running']);
      // Its slot is free.
      assert.deepEqual(await claimIds(store, ann), [waiting]);
      const again = await store.executions.cancel({ ...commanding(id), force: true });
      assert.equal(again.kind, 'refused');
    },
  },
  {
    upholds: 'X-118, Y-2',
    name: 'a forced cancel ends waiting and compensating executions without compensations',
    async run({ store }) {
      const ann = await worker(store);
      const parked = await running(store, ann);
      await mustPark(store, parked, { compensable: true });
      const undoing = await running(store, ann);
      const turned = { ...writing(undoing, { kind: 'compensating' }), compensating: true };
      await store.executions.giveBack(turned);
      for (const { id } of [parked, undoing]) {
        const result = await store.executions.cancel({ ...commanding(id), force: true });
        assert.deepEqual(result, { kind: 'done', status: 'cancelled' });
      }
      assert.deepEqual(await claimIds(store, ann), []);
    },
  },
];
