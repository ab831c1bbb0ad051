import assert from 'node:assert/strict';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  kindsOf,
  mustClaim,
  mustPark,
  mustRead,
  mustSubmit,
  noticesOf,
  running,
  signalling,
  worker,
} from '../worker.ts';

export const pauseCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-18',
    name: 'a paused execution is not claimed until it is resumed',
    async run({ store, advance }) {
      const ann = await worker(store);
      const id = await mustSubmit(store);
      const paused = await store.executions.pause(commanding(id));
      assert.deepEqual(paused, { kind: 'done', status: 'queued' });
      await advance(1_000);
      assert.deepEqual(await claimIds(store, ann), []);
      const resumed = await store.executions.resume(commanding(id));
      assert.deepEqual(resumed, { kind: 'done', status: 'queued' });
      await mustClaim(store, ann, id);
      assert.deepEqual(await kindsOf(store, id), ['submitted', 'paused', 'resumed', 'claimed']);
    },
  },
  {
    upholds: 'X-18',
    name: 'pausing what is paused, and resuming what is not held, changes nothing',
    async run({ store }) {
      const ann = await worker(store);
      const id = await mustSubmit(store);
      const { executions } = store;
      const none = await leavesUnchanged(store, () => executions.resume(commanding(id)));
      assert.deepEqual(none, { kind: 'no-change', status: 'queued' });
      await executions.pause(commanding(id));
      const again = await leavesUnchanged(store, () => executions.pause(commanding(id)));
      assert.deepEqual(again, { kind: 'no-change', status: 'queued' });
      await executions.resume(commanding(id));
      await mustClaim(store, ann, id);
      const busy = await leavesUnchanged(store, () => executions.resume(commanding(id)));
      assert.deepEqual(busy, { kind: 'no-change', status: 'running' });
    },
  },
  {
    upholds: 'X-18, X-16',
    name: 'a paused waiting execution collects messages and wakes, but is not claimed',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustPark(store, held);
      const paused = await store.executions.pause(commanding(held.id));
      assert.deepEqual(paused, { kind: 'done', status: 'waiting' });
      await store.executions.signal(signalling(held.id));
      const woken = await mustRead(store, held.id);
      assert.deepEqual([woken.status, woken.holds, woken.news], ['queued', ['paused'], 1]);
      assert.deepEqual(await claimIds(store, ann), []);
      await store.executions.resume(commanding(held.id));
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'X-18',
    name: 'a paused timer that came due is claimed when it is resumed',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustPark(store, held, { wakeInMs: 100 });
      await store.executions.pause(commanding(held.id));
      await advance(1_000);
      assert.deepEqual(await claimIds(store, ann), []);
      const resumed = await store.executions.resume(commanding(held.id));
      assert.deepEqual(resumed, { kind: 'done', status: 'waiting' });
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'X-18, X-5',
    name: 'a running execution is told to pause, with a notice, and keeps running',
    async run({ store, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const before = await noticesOf(store, ann);
      const request = commanding(held.id);
      const answer = await store.executions.pause(request);
      assert.deepEqual(answer, { kind: 'passed-on', status: 'running' });
      assert.notEqual(await noticesOf(store, ann), before);
      assert.deepEqual(await allMessages(store, held.id), [
        { n: 1, kind: 'pause', body: request.body, at: now() },
      ]);
      const { status, holds } = await mustRead(store, held.id);
      assert.deepEqual([status, holds], ['running', []]);
    },
  },
  {
    upholds: 'X-18',
    name: 'a resume takes away all that people put in the way',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const { executions } = store;
      const events = [{ kind: 'blocked' }] as const;
      await executions.giveBack({ ...held, events, blocked: true });
      await executions.pause(commanding(held.id));
      assert.deepEqual((await mustRead(store, held.id)).holds, ['paused', 'blocked']);
      const resumed = await executions.resume(commanding(held.id));
      assert.equal(resumed.kind, 'done');
      assert.deepEqual((await mustRead(store, held.id)).holds, []);
      await mustClaim(store, ann, held.id);
    },
  },
];
