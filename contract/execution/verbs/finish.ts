import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  childOf,
  claimAll,
  finishing,
  heldOf,
  mustClaim,
  mustFinish,
  mustPark,
  mustRead,
  mustSubmit,
  OTHER_PIPELINE,
  payload,
  running,
  step,
  submitting,
  worker,
  writing,
} from '../worker.ts';

export const finishCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-14',
    name: 'a finish ends the execution with status, time and last event',
    async run({ store, advance, now }) {
      const held = await running(store, await worker(store));
      await advance(30);
      const events = [step('pay'), { kind: 'failed', body: payload({ failure: 1 }) } as const];
      const result = await store.executions.finish(finishing(held, { status: 'failed', events }));
      assert.deepEqual(result, { kind: 'finished', at: now() });
      const { status, endedAt, seq, fence, session, readyAt, holds } = await mustRead(
        store,
        held.id,
      );
      assert.deepEqual(
        { status, endedAt, seq, fence, session, readyAt, holds },
        {
          status: 'failed',
          endedAt: now(),
          seq: 4,
          fence: held.fence,
          session: undefined,
          readyAt: undefined,
          holds: [],
        },
      );
      assert.deepEqual(await store.executions.outcomes([held.id]), [
        {
          id: held.id,
          status: 'failed',
          endedAt: now(),
          event: { ...events[1], seq: 4, at: now(), fence: held.fence },
        },
      ]);
    },
  },
  {
    upholds: 'X-14, X-16, X-69',
    name: 'the parent gets a message with the call and the outcome of its ended child',
    async run({ store, now }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const child = childOf(parent.id, 'child:ship#2');
      expectKind(await store.executions.submit(child), 'submitted');
      const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claimed !== undefined);
      const outcome = payload({ status: 'completed', result: 5 });
      await mustFinish(store, heldOf(claimed, ann), { outcome });
      assert.deepEqual(await allMessages(store, parent.id), [
        { n: 1, kind: 'child-ended', name: 'child:ship#2', body: outcome, at: now() },
      ]);
      const woken = await mustRead(store, parent.id);
      assert.deepEqual([woken.status, woken.inboxCount], ['running', 1]);
    },
  },
  {
    upholds: 'X-14',
    name: 'a child of an unknown execution can end',
    async run({ store }) {
      const ann = await worker(store);
      const ghost = submitting();
      const child = { ...childOf(ghost.id, 'child:a#1'), pipeline: ghost.pipeline };
      expectKind(await store.executions.submit(child), 'submitted');
      await mustFinish(store, await mustClaim(store, ann, child.id));
    },
  },
  {
    upholds: 'X-14, X-70, X-58',
    name: 'a successor takes over the key, and a submit with the key returns the successor',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const key = { key: 'order-17', intent: 'a' };
      const first = submitting(key);
      const { id } = first;
      expectKind(await store.executions.submit(first), 'submitted');
      const held = await mustClaim(store, ann, id);
      await advance(10);
      const successor = submitting({ ...key, lineage: id, delayMs: 20, body: payload('next') });
      await mustFinish(store, held, { successor });
      const next = await mustRead(store, successor.id);
      assert.deepEqual(
        [next.status, next.lineage, next.submittedAt, next.readyAt, next.key, next.intent],
        ['queued', id, now(), now() + 20, 'order-17', 'a'],
      );
      assert.equal((await mustRead(store, id)).key, undefined);
      const found = await store.executions.submit(submitting(key));
      assert.deepEqual(found, { kind: 'submitted', id: successor.id, existing: true });
      // The reply to the first submit may have been lost.
      const again = await store.executions.submit(first);
      assert.deepEqual(again, { kind: 'submitted', id, existing: true });
      await advance(20);
      await mustClaim(store, ann, successor.id);
    },
  },
  {
    upholds: 'X-14, X-4',
    name: 'repeating a finish with a successor inserts the successor once',
    async run({ store }) {
      const ann = await worker(store);
      const key = { key: 'order-17', intent: 'a' };
      const held = await mustClaim(store, ann, await mustSubmit(store, key));
      const request = finishing(held, { successor: submitting({ ...key, lineage: held.id }) });
      for (let times = 0; times < 2; times += 1) {
        expectKind(await store.executions.finish(request), 'finished');
      }
      assert.equal((await claimAll(store, ann)).length, 1);
    },
  },
  {
    upholds: 'X-14, X-1',
    name: 'a refused finish inserts no successor and sends no message to the parent',
    async run({ store }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const child = childOf(parent.id, 'child:a#1');
      expectKind(await store.executions.submit(child), 'submitted');
      const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claimed !== undefined);
      const held = heldOf(claimed, ann);
      const successor = submitting();
      const wrong = finishing({ ...held, seq: held.seq + 1 }, { successor });
      expectKind(await store.executions.finish(wrong), 'refused');
      assert.equal(await store.executions.read(successor.id), undefined);
      assert.equal((await mustRead(store, parent.id)).inboxCount, 0);
    },
  },
  {
    upholds: 'X-15',
    name: 'a give-back queues the execution at once or later, and may block or pause it',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const first = await running(store, ann);
      const { executions } = store;
      const back = writing(first, { kind: 'given-back' });
      expectKind(await executions.giveBack({ ...back, delayMs: 500 }), 'given-back');
      const queued = await mustRead(store, first.id);
      assert.deepEqual([queued.status, queued.readyAt], ['queued', now() + 500]);
      assert.deepEqual(await claimAll(store, ann), []);
      await advance(500);
      const second = await mustClaim(store, ann, first.id);
      const blocked = writing(second, { kind: 'blocked', body: payload({ why: 'no key' }) });
      expectKind(await executions.giveBack({ ...blocked, blocked: true }), 'given-back');
      assert.deepEqual((await mustRead(store, first.id)).holds, ['blocked']);
      assert.deepEqual(await claimAll(store, ann), []);
      const resume = { id: first.id, project: queued.project, body: payload('go') };
      expectKind(await executions.resume(resume), 'done');
      const third = await mustClaim(store, ann, first.id);
      assert.equal(third.claimed.previous, 'given-back');
      const paused = writing(third, { kind: 'paused' });
      expectKind(await executions.giveBack({ ...paused, paused: true }), 'given-back');
      assert.deepEqual((await mustRead(store, first.id)).holds, ['paused']);
      assert.deepEqual(await claimAll(store, ann), []);
    },
  },
  {
    upholds: 'X-15, X-3',
    name: 'a park waits for a timer, or only for messages',
    async run({ store, now }) {
      const ann = await worker(store);
      const one = await running(store, ann);
      await mustPark(store, one, { wakeInMs: 900, wakeAfter: 0 });
      const two = await running(store, ann);
      await mustPark(store, two, { wakeAfter: 3 });
      const rows = await Promise.all([one, two].map(({ id }) => mustRead(store, id)));
      assert.deepEqual(
        rows.map(({ status, readyAt, wakeAfter, seq }) => [status, readyAt, wakeAfter, seq]),
        [
          ['waiting', now() + 900, 0, 3],
          ['waiting', undefined, 3, 3],
        ],
      );
    },
  },
];
