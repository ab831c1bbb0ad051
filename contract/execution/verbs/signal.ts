import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  commanding,
  mustPark,
  mustRead,
  mustSubmit,
  noticesOf,
  payload,
  running,
  signalling,
  worker,
} from '../worker.ts';

export const signalCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-19',
    name: 'a signal to an open execution is in its inbox, with name and body',
    async run({ store, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const waiting = await running(store, ann);
      await mustPark(store, waiting);
      const queued = await mustSubmit(store);
      const paused = await mustSubmit(store);
      await store.executions.pause(commanding(paused));
      for (const id of [held.id, waiting.id, queued, paused]) {
        const request = { ...signalling(id, 'paid'), body: payload({ amount: 3 }) };
        const kind = id === held.id ? 'forwarded' : 'done';
        expectKind(await store.executions.signal(request), kind);
        assert.deepEqual(await allMessages(store, id), [
          { n: 1, kind: 'signal', name: 'paid', body: request.body, at: now() },
        ]);
        assert.equal((await mustRead(store, id)).inboxCount, 1);
      }
    },
  },
  {
    upholds: 'X-19',
    name: 'every signal to a running execution gives its session a notice',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const seen = new Set([await noticesOf(store, ann)]);
      for (const name of ['one', 'two', 'three']) {
        await store.executions.signal(signalling(held.id, name));
        seen.add(await noticesOf(store, ann));
      }
      assert.equal(seen.size, 4);
    },
  },
  {
    upholds: 'X-19',
    name: 'a listener that throws breaks no verb, and a removed listener is not called',
    async run({ store }) {
      let calls = 0;
      const stop = store.executions.onWakeup(() => {
        calls += 1;
        throw new Error('a listener of the test fails');
      });
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustPark(store, held);
      await store.executions.signal(signalling(held.id));
      stop();
      const before = calls;
      await mustSubmit(store);
      assert.equal(calls, before);
    },
  },
];
