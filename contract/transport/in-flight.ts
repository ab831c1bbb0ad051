// Commands of outsiders reach an execution that runs elsewhere. Wakeups may be lost.

import assert from 'node:assert/strict';
import type { InboxMessage } from '../../src/execution/history.ts';
import { workerState } from '../../src/features/releases/model.ts';
import { systemTimers } from '../../src/support/timer.ts';
import {
  commanding,
  later,
  mustSubmit,
  OTHER_PIPELINE,
  parking,
  signalling,
  statusOf,
} from '../execution/worker.ts';
import type { TransportCase } from './contract-case.ts';
import { assertKind, assertWhy, owner, type Peer, peer } from './peer.ts';

async function inboxOf(ann: Peer, id: string): Promise<readonly InboxMessage[]> {
  return (await ann.request<{ readonly items: readonly InboxMessage[] }>('readInbox', { id }))
    .items;
}

export const inFlightCases: readonly TransportCase[] = [
  {
    upholds: 'M-9',
    name: 'a cancel in flight gives a notice with the next heartbeat and is in the inbox',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const before = await ann.heartbeat();
      await harness.store.executions.cancel(commanding(id));
      const after = await ann.heartbeat();
      assert.ok((after.notices ?? 0) > (before.notices ?? 0), 'a notice');
      assert.deepEqual(
        (await inboxOf(ann, id)).map(({ kind }) => kind),
        ['cancel'],
      );
      assertKind(await ann.finish(held), 'finished');
    },
  },
  {
    upholds: 'M-9',
    name: 'a cancel in flight is counted in the reply to the next record',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      await harness.store.executions.cancel(commanding(id));
      const result = (await ann.record(held)) as unknown as { readonly inboxCount: number };
      assert.equal(result.inboxCount, 1);
    },
  },
  {
    upholds: 'M-9',
    name: 'a signal that comes while the execution parks is not missed: the park is refused',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      await harness.store.executions.signal(signalling(id));
      assertWhy(await ann.park(held), 'unread-messages');
      assert.deepEqual(
        (await inboxOf(ann, id)).map(({ kind }) => kind),
        ['signal'],
      );
      assertKind(await ann.write('park', parking(held, { inboxSeen: 1 })), 'parked');
    },
  },
  {
    upholds: 'M-9',
    name: 'pause and resume in flight are in the inbox, in their order',
    async run(harness) {
      const { ann, id } = await owner(harness);
      await harness.store.executions.pause(commanding(id));
      await harness.store.executions.resume(commanding(id));
      assert.deepEqual(
        (await inboxOf(ann, id)).map(({ kind }) => kind),
        ['pause', 'resume'],
      );
    },
  },
  {
    upholds: 'M-9',
    name: 'an inbox is read from the reader’s position',
    async run(harness) {
      const { ann, id } = await owner(harness);
      for (let sent = 0; sent < 3; sent += 1) await harness.store.executions.signal(signalling(id));
      const { items } = await ann.request<{ readonly items: readonly InboxMessage[] }>(
        'readInbox',
        { ...{ id, after: 1, limit: 1 } },
      );
      assert.deepEqual(
        items.map(({ n }) => n),
        [2],
      );
    },
  },
  {
    upholds: 'M-9',
    name: 'drain in flight: another worker claims the given-back execution, with its progress',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      assertKind(await ann.record(held), 'recorded');
      assertKind(await ann.giveBack(later(held)), 'given-back');
      assertKind(await ann.end(), 'ended');
      const bob = await peer(harness, 'bob');
      const [claimed] = await bob.claim();
      assert.deepEqual([claimed?.execution.id, claimed?.previous], [id, 'given-back']);
    },
  },
  {
    upholds: 'M-9, RE-11',
    name: 'a worker that beats but neither claims nor announces itself is stuck after two of its periods',
    async run(harness) {
      const { ann } = await owner(harness);
      const everyMs = 50;
      assertKind(await ann.request('announceWorker', { ...ann.announcing, everyMs }), 'announced');
      const { executions } = harness.store;
      const stateOf = async (): Promise<string | undefined> => {
        const own = (await executions.workers({ limit: 99 })).find(
          ({ session }) => session === ann.id,
        );
        const { now } = await executions.dueSchedules({ limit: 1 });
        return own === undefined ? undefined : workerState(own, now);
      };
      const seen = new Set<string | undefined>();
      while (!seen.has('stuck')) {
        assertKind(await ann.heartbeat(), 'alive');
        seen.add(await stateOf());
        await systemTimers.pause(everyMs / 5);
      }
      assert.ok([...seen].every((state) => state === 'ready' || state === 'stuck'));
      assertKind(
        await ann.request('announceWorker', { ...ann.announcing, everyMs: 60_000 }),
        'announced',
      );
      assert.equal(await stateOf(), 'ready');
    },
  },
  {
    upholds: 'M-11',
    name: 'a wait without a wakeup ends in its time',
    async run(harness) {
      const transport = await harness.transport();
      const waited = await transport.request({ kind: 'waitForWakeup', body: { waitMs: 0 } });
      assert.deepEqual(waited, { notified: false });
    },
  },
  {
    upholds: 'M-11',
    name: 'a worker without a wakeup finds work by claiming',
    async run(harness) {
      const ann = await peer(harness);
      const id = await mustSubmit(harness.store);
      assert.equal((await ann.mustClaim()).id, id);
      assert.equal(await statusOf(harness.store, id), 'running');
    },
  },
  {
    upholds: 'M-11',
    name: 'a submit wakes a waiting worker',
    async run(harness) {
      const transport = await harness.transport();
      // On transports with queues, the coordinator does not know a worker that has sent nothing.
      await transport.request({ kind: 'greet' });
      const { onWakeup } = transport;
      const woken =
        onWakeup === undefined
          ? transport.request({
              kind: 'waitForWakeup',
              body: { waitMs: 20_000 },
              timeoutMs: 30_000,
            })
          : new Promise<void>((resolve) => onWakeup.call(transport, resolve));
      const submitting = new AbortController();
      const submits = (async () => {
        while (!submitting.signal.aborted) {
          await mustSubmit(harness.store, { pipeline: OTHER_PIPELINE });
          await systemTimers.pause(10);
        }
      })();
      await woken;
      submitting.abort();
      await submits;
    },
  },
];
