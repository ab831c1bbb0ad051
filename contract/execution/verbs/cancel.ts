import assert from 'node:assert/strict';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustSubmit,
  noticesOf,
  running,
  worker,
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
];
