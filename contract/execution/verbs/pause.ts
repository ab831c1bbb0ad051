import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore, GiveBack } from '../../../src/store/contract/execution-store.ts';
import { expectKind, whyOf } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  type Held,
  kindsOf,
  later,
  mustClaim,
  mustGiveBack,
  mustPark,
  mustRead,
  mustSubmit,
  noticesOf,
  running,
  signalling,
  worker,
  writing,
} from '../worker.ts';

function pausing(held: Held, inboxSeen: number): GiveBack {
  return { ...writing(held, { kind: 'paused' }), paused: true, inboxSeen };
}

async function messagesOf(store: CoordinatorStore, id: ExecutionId): Promise<readonly string[]> {
  return (await allMessages(store, id)).map(({ kind }) => kind);
}

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
    name: 'pausing a paused execution, or resuming one that is not held, changes nothing',
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
      assert.deepEqual([woken.status, woken.holds, woken.inboxCount], ['queued', ['paused'], 1]);
      assert.deepEqual(await claimIds(store, ann), []);
      await store.executions.resume(commanding(held.id));
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'X-18',
    name: 'a paused execution whose timer came due is claimed when it is resumed',
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
    name: 'a pause of a running execution sends a message and a notice, and it keeps running',
    async run({ store, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const before = await noticesOf(store, ann);
      const request = commanding(held.id);
      const result = await store.executions.pause(request);
      assert.deepEqual(result, { kind: 'forwarded', status: 'running' });
      assert.notEqual(await noticesOf(store, ann), before);
      assert.deepEqual(await allMessages(store, held.id), [
        { n: 1, kind: 'pause', body: request.body, at: now() },
      ]);
      const { status, holds } = await mustRead(store, held.id);
      assert.deepEqual([status, holds], ['running', []]);
    },
  },
  {
    upholds: 'X-18, X-75',
    name: 'a resume removes every hold that an operator can remove',
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
  {
    upholds: 'X-18, X-5, X-75',
    name: 'a resume sends one message and a notice to the owner that got the pause',
    async run({ store, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const { executions } = store;
      await executions.pause(commanding(held.id));
      const again = await leavesUnchanged(store, () => executions.pause(commanding(held.id)));
      assert.deepEqual(again, { kind: 'no-change', status: 'running' });
      const before = await noticesOf(store, ann);
      const request = commanding(held.id);
      const result = await executions.resume(request);
      assert.deepEqual(result, { kind: 'forwarded', status: 'running' });
      assert.notEqual(await noticesOf(store, ann), before);
      assert.deepEqual((await allMessages(store, held.id)).slice(1), [
        { n: 2, kind: 'resume', body: request.body, at: now() },
      ]);
      const twice = await leavesUnchanged(store, () => executions.resume(commanding(held.id)));
      assert.deepEqual(twice, { kind: 'no-change', status: 'running' });
      const paused = await executions.pause(commanding(held.id));
      assert.deepEqual(paused, { kind: 'forwarded', status: 'running' });
    },
  },
  {
    upholds: 'X-18, X-5',
    name: 'an owner that has not read the resume cannot give back as paused',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const { executions } = store;
      await executions.pause(commanding(held.id));
      await executions.resume(commanding(held.id));
      for (const seen of [0, 1]) {
        await expectRefusedUnchanged(store, 'unread-messages', () =>
          executions.giveBack(pausing(held, seen)),
        );
      }
      await executions.pause(commanding(held.id));
      expectKind(await executions.giveBack(pausing(held, 3)), 'given-back');
      assert.deepEqual((await mustRead(store, held.id)).holds, ['paused']);
      await executions.resume(commanding(held.id));
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'X-18, X-75',
    name: 'a resume undoes a pause that the owner did not act on',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const { executions } = store;
      await executions.pause(commanding(held.id));
      await mustGiveBack(store, held);
      const resumed = await executions.resume(commanding(held.id));
      assert.deepEqual(resumed, { kind: 'done', status: 'queued' });
      assert.deepEqual(await messagesOf(store, held.id), ['pause', 'resume']);
      const again = await leavesUnchanged(store, () => executions.resume(commanding(held.id)));
      assert.deepEqual(again, { kind: 'no-change', status: 'queued' });
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'X-18',
    name: 'a resume undoes both a pause in force and one that the owner did not act on',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const { executions } = store;
      await executions.pause(commanding(held.id));
      await mustGiveBack(store, held);
      await executions.pause(commanding(held.id));
      const resumed = await executions.resume(commanding(held.id));
      assert.deepEqual(resumed, { kind: 'done', status: 'queued' });
      assert.deepEqual((await mustRead(store, held.id)).holds, []);
      assert.deepEqual(await messagesOf(store, held.id), ['pause', 'resume']);
      const after = await mustClaim(store, ann, held.id);
      const busy = await leavesUnchanged(store, () => executions.resume(commanding(after.id)));
      assert.deepEqual(busy, { kind: 'no-change', status: 'running' });
    },
  },
  {
    upholds: 'X-18, X-16',
    name: 'a resume message for a waiting execution wakes it',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const { executions } = store;
      await executions.pause(commanding(held.id));
      await mustPark(store, held, { inboxSeen: 1 });
      await executions.pause(commanding(held.id));
      const resumed = await executions.resume(commanding(held.id));
      assert.deepEqual(resumed, { kind: 'done', status: 'queued' });
      const { status, holds, inboxCount } = await mustRead(store, held.id);
      assert.deepEqual([status, holds, inboxCount], ['queued', [], 2]);
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'X-18, X-5',
    needs: 'two-clients',
    name: 'a resume that races the give-back of its pause is never lost',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 8; round += 1) {
        const ann = await worker(store, `ann ${round}`);
        const held = await running(store, ann);
        await store.executions.pause(commanding(held.id));
        const [first, second] = round % 2 === 0 ? [store, other] : [other, store];
        const [back, resumed] = await Promise.all([
          first.executions.giveBack(pausing(held, 1)),
          second.executions.resume(commanding(held.id)),
        ]);
        const isBack = back.kind === 'given-back';
        assert.equal(whyOf(back), isBack ? 'given-back' : 'unread-messages');
        assert.equal(resumed.kind, isBack ? 'done' : 'forwarded');
        assert.deepEqual((await mustRead(store, held.id)).holds, []);
        if (!isBack) await mustGiveBack(store, later(held, 0));
        await store.executions.cancel(commanding(held.id));
      }
    },
  },
];
