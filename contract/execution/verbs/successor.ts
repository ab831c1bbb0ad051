// The things that an execution passes to its successor, and those that it does not.

import assert from 'node:assert/strict';
import type { ExecutionId, Payload } from '../../../src/execution/names.ts';
import type {
  CoordinatorStore,
  Finish,
  Submit,
} from '../../../src/store/contract/execution-store.ts';
import { expectKind, whyOf } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged } from '../expect.ts';
import {
  childOf,
  claimAll,
  claimIds,
  commanding,
  finishing,
  type Held,
  heldOf,
  kindsOf,
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

const one = { concurrency: { key: 'customer-1', limit: 1 } };
const two = { concurrency: { key: 'customer-1', limit: 2 } };

function following(held: Held, options: Partial<Submit> = {}): Submit {
  return submitting({ lineage: held.id, ...options });
}

/** Finishes with a successor and returns its id. */
async function mustContinue(
  store: CoordinatorStore,
  held: Held,
  options: Partial<Finish> = {},
): Promise<ExecutionId> {
  const successor = options.successor ?? following(held);
  await mustFinish(store, held, { ...options, successor });
  return successor.id;
}

async function inboxOf(store: CoordinatorStore, id: ExecutionId): Promise<readonly string[]> {
  const messages = await allMessages(store, id);
  return messages.map(({ kind, name }) => (name === undefined ? kind : `${kind} ${name}`));
}

export const successorCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-14, X-5, X-71',
    name: 'unread signals go to the successor, in their order and renumbered',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      for (const name of ['one', 'two', 'three']) {
        await store.executions.signal(signalling(held.id, name));
        await advance(1);
      }
      const sent = await allMessages(store, held.id);
      const id = await mustContinue(store, held);
      assert.deepEqual(await allMessages(store, id), sent);
      const { claimed } = await mustClaim(store, ann, id);
      assert.equal(claimed.execution.inboxCount, 3);
    },
  },
  {
    upholds: 'X-14, X-71',
    name: 'a finish can name read messages, which go to the successor too',
    async run({ store }) {
      const held = await running(store, await worker(store));
      for (const name of ['one', 'two', 'three', 'four', 'five']) {
        await store.executions.signal(signalling(held.id, name));
      }
      const id = await mustContinue(store, held, { inboxSeen: 4, unread: [1, 3] });
      assert.deepEqual(await inboxOf(store, id), ['signal one', 'signal three', 'signal five']);
      assert.equal((await mustRead(store, id)).inboxCount, 3);
    },
  },
  {
    upholds: 'X-14, X-71',
    name: 'messages about ended children stay with the execution that started them',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.submit(childOf(held.id, 'child:a#1'));
      const [child] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(child !== undefined);
      await store.executions.signal(signalling(held.id, 'one'));
      await mustFinish(store, heldOf(child, ann));
      await store.executions.signal(signalling(held.id, 'two'));
      const id = await mustContinue(store, held, { unread: [2] });
      assert.deepEqual(await inboxOf(store, id), ['signal one', 'signal two']);
    },
  },
  {
    upholds: 'X-14, X-18',
    name: 'a pause that the owner did not act on goes to the successor, and a resume undoes it there',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await store.executions.pause(commanding(held.id));
      const id = await mustContinue(store, held, { inboxSeen: 1, unread: [1] });
      assert.deepEqual(await inboxOf(store, id), ['pause']);
      const resumed = await store.executions.resume(commanding(id));
      assert.deepEqual(resumed, { kind: 'done', status: 'queued' });
      assert.deepEqual(await inboxOf(store, id), ['pause', 'resume']);
    },
  },
  {
    upholds: 'X-14, X-17, X-71',
    name: 'a cancel that the owner did not act on cancels the successor, with all its consequences',
    async run({ store, now }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const child = childOf(parent.id, 'child:a#1', { ...one, key: 'a', intent: 'a' });
      await store.executions.submit(child);
      const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claimed !== undefined);
      const waiting = await mustSubmit(store, one);
      const held = heldOf(claimed, ann);
      const request = commanding(held.id, { body: payload({ by: 'olga', reason: 'typo' }) });
      expectKind(await store.executions.cancel(request), 'forwarded');
      const id = await mustContinue(store, held, { successor: { ...child, ...following(held) } });
      assert.equal((await mustRead(store, held.id)).status, 'completed');
      const next = await mustRead(store, id);
      assert.deepEqual([next.status, next.endedAt, next.key], ['cancelled', now(), 'a']);
      const [, last] = await store.executions.history({ id, after: 0, limit: 9 });
      assert.deepEqual([last?.kind, last?.body], ['cancelled', request.body]);
      const messages = await allMessages(store, parent.id);
      const body = '{"status":"cancelled"}' as Payload;
      assert.deepEqual(messages, [
        { n: 1, kind: 'child-ended', name: 'child:a#1', body, at: now() },
      ]);
      await mustClaim(store, ann, waiting);
    },
  },
  {
    upholds: 'X-14, X-17',
    name: 'a cancel that was read but not acted on cancels the successor; one that was acted on does not',
    async run({ store }) {
      const ann = await worker(store);
      for (const unread of [[1], []]) {
        const held = await running(store, ann);
        await store.executions.cancel(commanding(held.id));
        const id = await mustContinue(store, held, { inboxSeen: 1, unread });
        const expected = unread.length > 0 ? 'cancelled' : 'queued';
        assert.equal((await mustRead(store, id)).status, expected);
        await store.executions.cancel(commanding(id));
      }
    },
  },
  {
    upholds: 'X-14, X-2',
    name: 'signals and commands to a continued execution are refused',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const id = await mustContinue(store, held);
      for (const verb of ['signal', 'cancel', 'pause', 'resume'] as const) {
        const request = signalling(held.id);
        await expectRefusedUnchanged(store, 'already-ended', () => store.executions[verb](request));
      }
      assert.deepEqual(await inboxOf(store, id), []);
    },
  },
  {
    upholds: 'X-14, X-4',
    name: 'repeating a finish with a successor passes messages on once',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.signal(signalling(held.id, 'one'));
      const request = finishing(held, { successor: following(held) });
      for (let times = 0; times < 2; times += 1) {
        expectKind(await store.executions.finish(request), 'finished');
      }
      assert.deepEqual(await inboxOf(store, request.successor?.id ?? held.id), ['signal one']);
    },
  },
  {
    upholds: 'X-14',
    name: 'a successor whose id is taken gets no messages',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const other = await mustSubmit(store);
      await store.executions.signal(signalling(held.id, 'one'));
      await store.executions.cancel(commanding(held.id));
      await mustContinue(store, held, { successor: following(held, { id: other }) });
      assert.deepEqual(await inboxOf(store, other), []);
      await mustClaim(store, ann, other);
    },
  },
  {
    upholds: 'X-14, X-5',
    needs: 'two-clients',
    name: 'a signal or a cancel that races a finish with a successor reaches the successor or is refused',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 12; round += 1) {
        const ann = await worker(store, `ann ${round}`);
        const held = await running(store, ann);
        const successor = following(held);
        const [first, second] = round % 2 === 0 ? [store, other] : [other, store];
        const [finished, signalled, cancelled] = await Promise.all([
          first.executions.finish(finishing(held, { successor })),
          second.executions.signal(signalling(held.id, 'one')),
          second.executions.cancel(commanding(held.id)),
        ]);
        expectKind(finished, 'finished');
        const isForwarded = signalled.kind !== 'refused';
        assert.equal(whyOf(signalled), isForwarded ? 'forwarded' : 'already-ended');
        assert.deepEqual(await inboxOf(store, successor.id), isForwarded ? ['signal one'] : []);
        const isOver = cancelled.kind !== 'refused';
        assert.equal(whyOf(cancelled), isOver ? 'forwarded' : 'already-ended');
        const { status } = await mustRead(store, successor.id);
        assert.equal(status, isOver ? 'cancelled' : 'queued');
        await store.executions.cancel(commanding(successor.id));
      }
    },
  },
  {
    upholds: 'X-12, X-14, X-63',
    name: 'a successor that takes over the slot keeps the limit of the last submit',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await mustClaim(store, ann, await mustSubmit(store, two));
      await advance(1);
      const lowered = await mustSubmit(store, one);
      await advance(1);
      const last = await mustSubmit(store, one);
      const id = await mustContinue(store, held, { successor: following(held, two) });
      const next = await mustClaim(store, ann, id);
      assert.deepEqual((await mustRead(store, lowered)).holds, ['concurrency-limit']);
      await mustFinish(store, next);
      await mustClaim(store, ann, lowered);
      assert.deepEqual((await mustRead(store, last)).holds, ['concurrency-limit']);
    },
  },
  {
    upholds: 'X-12, X-14',
    name: 'a raised limit stays when an execution with an older limit is continued',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await mustClaim(store, ann, await mustSubmit(store, one));
      await advance(1);
      const raised = await mustClaim(store, ann, await mustSubmit(store, two));
      const third = await mustSubmit(store, two);
      assert.deepEqual((await mustRead(store, third)).holds, ['concurrency-limit']);
      const id = await mustContinue(store, held, { successor: following(held, one) });
      await mustClaim(store, ann, id);
      await mustFinish(store, raised);
      await mustClaim(store, ann, third);
    },
  },
  {
    upholds: 'X-12, X-14, X-63',
    name: 'a successor with another concurrency key queues like any submit with that key',
    async run({ store }) {
      const ann = await worker(store);
      const held = await mustClaim(store, ann, await mustSubmit(store, one));
      const other = { concurrency: { key: 'customer-2', limit: 2 } };
      const low = { concurrency: { key: 'customer-2', limit: 1 } };
      const ids = [await mustSubmit(store, other), await mustSubmit(store, other)];
      const claimed = await claimAll(store, ann);
      assert.deepEqual(claimed.map(({ execution }) => execution.id).sort(), ids.toSorted());
      const behind = await mustSubmit(store, one);
      const id = await mustContinue(store, held, { successor: following(held, low) });
      await mustClaim(store, ann, behind);
      const [first, second] = claimed.map((each) => heldOf(each, ann));
      assert(first !== undefined && second !== undefined);
      await mustFinish(store, first);
      assert.deepEqual(await claimIds(store, ann), []);
      await mustFinish(store, second);
      await mustClaim(store, ann, id);
    },
  },
  {
    upholds: 'X-14, X-1',
    name: 'a refused finish with a successor passes no messages on',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.signal(signalling(held.id, 'one'));
      const request = finishing({ ...held, seq: held.seq + 1 }, { successor: following(held) });
      await expectRefusedUnchanged(store, 'seq-taken', () => store.executions.finish(request));
      await store.executions.giveBack(writing(held, { kind: 'given-back' }));
      assert.deepEqual(await kindsOf(store, held.id), ['submitted', 'claimed', 'given-back']);
    },
  },
];
