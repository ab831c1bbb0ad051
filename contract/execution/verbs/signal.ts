import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  commanding,
  mustFinish,
  mustPark,
  mustRead,
  mustSubmit,
  nextId,
  noticesOf,
  OTHER_PROJECT,
  payload,
  running,
  signalling,
  submitting,
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
  {
    upholds: 'X-109',
    name: 'a second signal with the same key changes nothing, also after the end, and another key is another signal',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const keyed = { ...signalling(held.id), key: 'payment/7' };
      expectKind(await store.executions.signal(keyed), 'forwarded');
      const again = await leavesUnchanged(store, () => store.executions.signal(keyed));
      assert.deepEqual(again, { kind: 'no-change', status: 'running' });
      const other = await running(store, ann);
      expectKind(await store.executions.signal({ ...keyed, id: other.id }), 'forwarded');
      expectKind(await store.executions.signal({ ...keyed, key: 'payment/8' }), 'forwarded');
      await mustFinish(store, held);
      const late = await leavesUnchanged(store, () => store.executions.signal(keyed));
      assert.deepEqual(late, { kind: 'no-change', status: 'completed' });
      const elsewhere = { ...keyed, project: OTHER_PROJECT };
      await expectRefusedUnchanged(store, 'execution-unknown', () =>
        store.executions.signal(elsewhere),
      );
    },
  },
  {
    upholds: 'X-109',
    name: 'one of many signals at once with one key arrives',
    async run({ store }) {
      const id = await mustSubmit(store);
      const keyed = { ...signalling(id), key: 'payment/7' };
      const results = await Promise.all(
        Array.from({ length: 8 }, () => store.executions.signal(keyed)),
      );
      assert.equal(results.filter(({ kind }) => kind === 'done').length, 1);
      assert.equal((await allMessages(store, id)).length, 1);
    },
  },
  {
    upholds: 'X-109, X-71',
    name: 'a pending signal keeps its key when it goes to a successor',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const keyed = { ...signalling(held.id), key: 'payment/7' };
      expectKind(await store.executions.signal(keyed), 'forwarded');
      const successor = submitting({ lineage: held.id });
      await mustFinish(store, held, { successor });
      const again = { ...keyed, id: successor.id };
      const result = await leavesUnchanged(store, () => store.executions.signal(again));
      assert.equal(result.kind, 'no-change');
    },
  },
  {
    upholds: 'X-110',
    name: 'a submit with a message starts an execution that has it, or sends it to the one that has the key',
    async run({ store }) {
      const message = { name: 'item', body: payload({ out: 1 }), key: 'item/1' };
      const first = submitting({ key: 'cart', intent: 'a', message });
      const started = await store.executions.submit(first);
      const done = { kind: 'done', status: 'queued' } as const;
      assert.deepEqual(started, {
        ...{ kind: 'submitted', id: first.id, existing: false, signalled: done },
      });
      const second = {
        ...first,
        id: nextId(),
        intent: 'b',
        message: { ...message, key: 'item/2' },
      };
      assert.deepEqual(await store.executions.submit(second), {
        ...{ kind: 'submitted', id: first.id, existing: true, signalled: done },
      });
      const bodies = (await allMessages(store, first.id)).map(({ n, name }) => `${n} ${name}`);
      assert.deepEqual(bodies, ['1 item', '2 item']);
      for (const repeated of [first, second]) {
        const result = await leavesUnchanged(store, () => store.executions.submit(repeated));
        assert.equal(result.kind === 'submitted' && result.signalled?.kind, 'no-change');
      }
      assert.equal(await store.executions.read(second.id), undefined);
    },
  },
  {
    upholds: 'X-110, X-105',
    name: 'a message to an ended execution is refused, unless the submit takes its key over',
    async run({ store }) {
      const message = { name: 'item', body: payload({ out: 1 }) };
      const id = await mustSubmit(store, { key: 'cart' });
      await store.executions.cancel(commanding(id));
      const joining = submitting({ key: 'cart', message });
      const refused = await leavesUnchanged(store, () => store.executions.submit(joining));
      const why = { why: 'already-ended', id, status: 'cancelled' };
      assert.deepEqual(refused, {
        ...{ kind: 'submitted', id, existing: true, signalled: { kind: 'refused', ...why } },
      });
      const reusing = submitting({ key: 'cart', message, ifKeyTaken: 'reuse' });
      const result = expectKind(await store.executions.submit(reusing), 'submitted');
      assert.equal(result.existing, false);
      assert.equal((await allMessages(store, reusing.id)).length, 1);
    },
  },
];
