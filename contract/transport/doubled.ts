// A message that is delivered twice has its effect once.

import assert from 'node:assert/strict';
import type { WorkKind } from '../../src/protocol/messages/work-messages.ts';
import { digestOf } from '../../src/support/digest.ts';
import {
  finishing,
  type Held,
  kindsOf,
  mustSubmit,
  PROJECT,
  parking,
  statusOf,
  writing,
} from '../execution/worker.ts';
import type { TransportCase, TransportHarness } from './contract-case.ts';
import { assertKind, assertWhy, owner, Peer, peer } from './peer.ts';

interface WorkReply {
  readonly kind: string;
  readonly why?: string;
}

async function twice(
  harness: TransportHarness,
  kind: WorkKind,
  body: object,
): Promise<readonly [WorkReply, WorkReply]> {
  return (await harness.twice({ kind, body })) as readonly [WorkReply, WorkReply];
}

/** Returns the replies to one write, delivered twice. */
async function writtenTwice(
  harness: TransportHarness,
  write: object,
): Promise<readonly WorkReply[]> {
  const replies = await harness.twice({ kind: 'writeAsOwner', body: { writes: [write] } });
  return (replies as readonly { readonly results: readonly WorkReply[] }[]).map(({ results }) => {
    assert.equal(results.length, 1);
    return results[0] as WorkReply;
  });
}

function ownerWrite(verb: string, done: string, write: (held: Held) => object): TransportCase {
  return {
    upholds: 'M-1',
    name: `a ${verb} that is delivered twice gets equal answers and is written once`,
    async run(harness) {
      const { held, id } = await owner(harness);
      const results = await writtenTwice(harness, { verb, ...write(held) });
      for (const result of results) assertKind(result, done);
      // An execution that was given back may already be claimed again.
      const kinds = (await kindsOf(harness.store, id)).filter((kind) => kind !== 'claimed');
      assert.equal(kinds.length, 2, `submitted and one more, not ${kinds}`);
    },
  };
}

export const doubledCases: readonly TransportCase[] = [
  ownerWrite('record', 'recorded', (held) => writing(held)),
  ownerWrite('finish', 'finished', (held) => finishing(held)),
  ownerWrite('park', 'parked', (held) => parking(held)),
  ownerWrite('giveBack', 'given-back', (held) => writing(held, { kind: 'given-back' })),
  {
    upholds: 'M-1',
    name: 'an openSession that is delivered twice opens one session',
    async run(harness) {
      const ann = new Peer(await harness.transport(), 'ann');
      const results = await twice(harness, 'openSession', ann.opening);
      for (const result of results) assertKind(result, 'opened');
      assertKind(await ann.heartbeat(), 'alive');
    },
  },
  {
    upholds: 'M-1',
    name: 'a heartbeat that is delivered twice keeps its session alive',
    async run(harness) {
      const ann = await peer(harness);
      const body = { id: ann.id, owner: ann.owner };
      for (const result of await twice(harness, 'heartbeat', body)) assertKind(result, 'alive');
    },
  },
  {
    upholds: 'M-1',
    name: 'an endSession that is delivered twice ends the session once',
    async run(harness) {
      const ann = await peer(harness);
      const body = { id: ann.id, owner: ann.owner, exit: 'finished' };
      const [first] = await twice(harness, 'endSession', body);
      assertKind(first, 'ended');
      assertWhy(await ann.heartbeat(), 'session-ended');
    },
  },
  {
    upholds: 'M-1, RE-11',
    name: 'an announceWorker that is delivered twice adds one worker, in the project of its key',
    async run(harness) {
      const { ann } = await owner(harness);
      for (const result of await twice(harness, 'announceWorker', ann.announcing)) {
        assertKind(result, 'announced');
      }
      // An endpoint has one session per possible call, and each is a worker.
      const all = await harness.store.executions.workers({ limit: 1_000 });
      const own = all.filter(({ session }) => session === ann.id);
      assert.deepEqual(
        own.map(({ project }) => project),
        ['default'],
      );
    },
  },
  {
    upholds: 'M-1, M-2',
    name: 'a claim that is delivered twice takes nothing that its session cannot find',
    needs: 'asking',
    async run(harness) {
      const ann = await peer(harness);
      const ids = [await mustSubmit(harness.store), await mustSubmit(harness.store)];
      await harness.twice({ kind: 'claimExecutions', body: ann.claiming(1) });
      const carried = await ann.carried();
      assert.ok(carried.length >= 1);
      const running = await Promise.all(ids.map((id) => statusOf(harness.store, id)));
      assert.equal(running.filter((status) => status === 'running').length, carried.length);
    },
  },
  {
    upholds: 'M-1',
    name: 'a blob that is put twice is stored once, unchanged',
    async run(harness) {
      const bytes = new TextEncoder().encode('large');
      const digest = digestOf(bytes);
      await harness.twice({ kind: 'putBlob', body: { digest }, bytes });
      assert.deepEqual(await harness.store.executions.getBlob({ project: PROJECT, digest }), bytes);
    },
  },
  {
    upholds: 'M-1',
    name: 'reads that are delivered twice get equal answers',
    async run(harness) {
      const { id, ann } = await owner(harness);
      for (const kind of ['readStoredExecution', 'readStoredHistory', 'readInbox'] as const) {
        const [one, other] = await harness.twice({ kind, body: { id } });
        assert.deepEqual(one, other);
      }
      const [one, other] = await harness.twice({ kind: 'listClaims', body: { id: ann.id } });
      assert.deepEqual(one, other);
    },
  },
  {
    upholds: 'M-1, M-3',
    name: 'a finish that is repeated after its execution ended gets the same answer and changes nothing',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      assertKind(await ann.finish(held), 'finished');
      const before = await harness.store.executions.read(id);
      assertKind(await ann.finish(held), 'finished');
      assert.deepEqual(await harness.store.executions.read(id), before);
    },
  },
];
