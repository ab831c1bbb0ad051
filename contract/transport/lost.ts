// A worker repeats a message whose reply was lost, and the second reply holds.

import assert from 'node:assert/strict';
import { digestOf } from '../../src/support/digest.ts';
import { kindsOf, later, mustSubmit, statusOf, writing } from '../execution/worker.ts';
import { faultyTransport } from '../testing/faulty-transport.ts';
import { refusedWith, type TransportCase, type TransportHarness } from './contract-case.ts';
import { assertKind, owner, Peer, peer, takenOver } from './peer.ts';

/** The same worker, over a transport that fails on request. */
function faulted(ann: Peer): {
  readonly transport: ReturnType<typeof faultyTransport>;
  readonly peer: Peer;
} {
  const transport = faultyTransport(ann.transport);
  const peer_ = Object.assign(new Peer(transport, ann.owner), { id: ann.id });
  return { transport, peer: peer_ };
}

/** For every kind of write: its reply is lost, and the worker sends it again. */
function lostReply(verb: 'record' | 'finish' | 'park' | 'giveBack', done: string): TransportCase {
  return {
    upholds: 'M-2',
    name: `a ${verb} whose reply was lost is answered when repeated, and is stored once`,
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const { transport, peer: shaky } = faulted(ann);
      transport.next('writeAsOwner', 'reply-lost');
      await refusedWith(shaky[verb](held), 'outcome-unknown');
      assertKind(await shaky[verb](held), done);
      // An execution that was given back may already be claimed again.
      const kinds = (await kindsOf(harness.store, id)).filter((kind) => kind !== 'claimed');
      assert.equal(kinds.length, 2);
    },
  };
}

async function fateOf(
  ann: Peer,
  id: string,
): Promise<{ readonly status: string; readonly fence?: number }> {
  return ann.request('readStoredExecution', { id });
}

const fates: readonly TransportCase[] = [
  {
    upholds: 'M-8',
    name: 'a claimed execution reads as running under its fence',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const fate = await fateOf(ann, id);
      assert.deepEqual([fate.status, fate.fence], ['running', held.fence]);
    },
  },
  {
    upholds: 'M-8',
    name: 'a finish whose reply was lost reads as completed, under the fence that wrote it',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const { transport, peer: shaky } = faulted(ann);
      transport.next('writeAsOwner', 'reply-lost');
      await refusedWith(shaky.finish(held), 'outcome-unknown');
      assert.equal((await fateOf(ann, id)).status, 'completed');
      const { items } = await ann.request<{ items: readonly { kind: string; fence: number }[] }>(
        'readStoredHistory',
        { id },
      );
      assert.deepEqual([items.at(-1)?.kind, items.at(-1)?.fence], ['completed', held.fence]);
    },
  },
  {
    upholds: 'M-8',
    name: 'a finish that was lost on the way left nothing, and can be repeated',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const { transport, peer: shaky } = faulted(ann);
      transport.next('writeAsOwner', 'lost');
      await refusedWith(shaky.finish(held), 'outcome-unknown');
      assert.deepEqual((await fateOf(ann, id)).fence, held.fence);
      assertKind(await shaky.finish(held), 'finished');
    },
  },
  {
    upholds: 'M-8',
    name: 'an execution that was taken over reads with a newer fence',
    async run(harness) {
      const { ann, hers, his } = await takenOver(harness);
      const fate = await fateOf(ann, hers.id);
      assert.equal(fate.fence, his.fence);
    },
  },
  {
    upholds: 'M-8',
    name: 'a read of an unknown execution is refused as unknown',
    async run(harness) {
      const ann = await peer(harness);
      const id = '01900000-0000-7000-8000-ffffffffffff';
      await refusedWith(fateOf(ann, id), 'execution-unknown');
    },
  },
];

async function openedWithoutReply(harness: TransportHarness): Promise<Peer> {
  const transport = faultyTransport(await harness.transport());
  const ann = new Peer(transport, 'ann');
  transport.next('openSession', 'reply-lost');
  await refusedWith(ann.request('openSession', ann.opening), 'outcome-unknown');
  return ann;
}

export const lostCases: readonly TransportCase[] = [
  lostReply('record', 'recorded'),
  lostReply('finish', 'finished'),
  lostReply('park', 'parked'),
  lostReply('giveBack', 'given-back'),
  {
    upholds: 'M-2',
    name: 'a session whose opening got no reply is opened by repeating the request',
    async run(harness) {
      const ann = await openedWithoutReply(harness);
      assertKind(await ann.request('openSession', ann.opening), 'opened');
      assertKind(await ann.heartbeat(), 'alive');
    },
  },
  {
    upholds: 'M-2',
    name: 'a claim whose reply was lost is in the session’s list of claims, with its fence',
    needs: 'asking',
    async run(harness) {
      const ann = await peer(harness);
      const { transport, peer: shaky } = faulted(ann);
      const id = await mustSubmit(harness.store);
      transport.next('claimExecutions', 'reply-lost');
      await refusedWith(shaky.claim(), 'outcome-unknown');
      const [found] = await shaky.carried();
      assert.equal(found?.execution.id, id);
      const held = { id, fence: found.fence, session: ann.id, seq: found.execution.seq + 1 };
      assertKind(await shaky.finish(held), 'finished');
    },
  },
  {
    upholds: 'M-2',
    name: 'a claim that was lost on the way took nothing',
    needs: 'asking',
    async run(harness) {
      const ann = await peer(harness);
      const { transport, peer: shaky } = faulted(ann);
      const id = await mustSubmit(harness.store);
      transport.next('claimExecutions', 'lost');
      await refusedWith(shaky.claim(), 'outcome-unknown');
      assert.equal(await statusOf(harness.store, id), 'queued');
      assert.equal((await shaky.claim()).length, 1);
    },
  },
  {
    upholds: 'M-2',
    name: 'a lost heartbeat costs nothing if the next one comes in time',
    async run(harness) {
      const ann = await peer(harness);
      const { transport, peer: shaky } = faulted(ann);
      transport.next('heartbeat', 'lost');
      await refusedWith(shaky.heartbeat(), 'outcome-unknown');
      assertKind(await shaky.heartbeat(), 'alive');
    },
  },
  {
    upholds: 'M-2',
    name: 'a blob whose reply was lost can be put again and read',
    async run(harness) {
      const bytes = new TextEncoder().encode('value');
      const transport = faultyTransport(await harness.transport());
      const put = { kind: 'putBlob', body: { digest: digestOf(bytes) }, bytes } as const;
      transport.next('putBlob', 'reply-lost');
      await refusedWith(transport.request(put), 'outcome-unknown');
      await transport.request(put);
      assert.deepEqual(await transport.request({ kind: 'getBlob', body: put.body }), bytes);
    },
  },
  {
    upholds: 'M-2, M-3',
    name: 'records that overtake each other are refused out of turn, and all are stored in the end',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      const { transport, peer: shaky } = faulted(ann);
      transport.next('writeAsOwner', 'held');
      const first = shaky.record(held);
      const second = await shaky.record(later(held));
      assert.equal(second.why, 'seq-taken');
      transport.release();
      assertKind(await first, 'recorded');
      assertKind(await shaky.write('record', writing(later(held))), 'recorded');
      assert.equal((await kindsOf(harness.store, id)).length, 4);
    },
  },
  ...fates,
];
