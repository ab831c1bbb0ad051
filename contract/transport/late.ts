// Late messages change nothing that has happened since.

import assert from 'node:assert/strict';
import type { WriteTransport } from '../../src/features/audit/model.ts';
import {
  commanding,
  kindsOf,
  later,
  mustSubmit,
  PROJECT,
  statusOf,
  step,
  writing,
} from '../execution/worker.ts';
import { faultyTransport } from '../testing/faulty-transport.ts';
import type { TransportCase } from './contract-case.ts';
import { assertKind, assertWhy, owner, Peer, peer, takenOver } from './peer.ts';

const TRANSPORTS: Readonly<Record<WriteTransport, RegExp>> = {
  embedded: /^a transport always has a name$/,
  'in-process': /in-process/i,
  http: /REST|HTTP|Python/i,
  stream: /stream/i,
  grpc: /gRPC/i,
  sqs: /SQS/i,
  push: /push/i,
};

type Verb = 'record' | 'finish' | 'park' | 'giveBack';
const VERBS: readonly Verb[] = ['record', 'finish', 'park', 'giveBack'];

/** A replaced worker comes back with its results. */
function zombie(verb: Verb): TransportCase {
  return {
    upholds: 'M-3',
    name: `a ${verb} of a replaced worker is refused: its fence is not the newest`,
    async run(harness) {
      const { ann, bob, hers, his } = await takenOver(harness);
      const before = await kindsOf(harness.store, hers.id);
      assertWhy(await ann[verb](hers), 'superseded');
      assert.deepEqual(await kindsOf(harness.store, hers.id), before);
      assertKind(await bob.finish(his), 'finished');
    },
  };
}

/** The worker's session has ended, and no other worker has taken over yet. */
function orphan(verb: Verb): TransportCase {
  return {
    upholds: 'M-3',
    name: `a ${verb} after the end of its session is refused, and another worker claims the execution`,
    async run(harness) {
      const { ann, held } = await owner(harness);
      assertKind(await ann.end(), 'ended');
      // On push transports, the next call may already have come.
      assertWhy(await ann[verb](held), 'claim-ended', ...(harness.endpoint ? ['superseded'] : []));
      const bob = await peer(harness, 'bob');
      assert.equal((await bob.mustClaim()).id, held.id);
    },
  };
}

export const lateCases: readonly TransportCase[] = [
  {
    upholds: 'J-10, J-15',
    name: 'a late write is counted with its worker, its transport and how late it was',
    async run(harness) {
      const { ann, hers } = await takenOver(harness);
      assertWhy(await ann.record(hers), 'superseded');
      const { executions } = harness.store;
      const query = { project: PROJECT, execution: hers.id, limit: 10 };
      // A coordinator stores its counts when it stops.
      await harness.stop?.();
      const [counted, ...others] = await executions.refusals(query);
      assert.deepEqual(others, []);
      assert.deepEqual(
        [counted?.owner, counted?.session, counted?.fence, counted?.count],
        [ann.owner, ann.id, hers.fence, 1],
      );
      assert.ok((counted?.lateMs ?? -1) >= 0, 'its lateness is known');
      assert.match(ann.transport.name, TRANSPORTS[counted?.transport ?? 'embedded']);
    },
  },
  ...VERBS.map(zombie),
  ...VERBS.map(orphan),
  {
    upholds: 'M-3',
    name: 'a delayed result is refused when it arrives after a takeover',
    async run(harness) {
      const { ann, held } = await owner(harness);
      const transport = faultyTransport(ann.transport);
      const slow = Object.assign(new Peer(transport, ann.owner), { id: ann.id });
      transport.next('writeAsOwner', 'held');
      const late = slow.finish(held);
      const by = { kind: 'operator', actor: 'olga', reason: 'too slow' } as const;
      await harness.store.sessions.end({ id: ann.id, by });
      const bob = await peer(harness, 'bob');
      const his = await bob.mustClaim();
      transport.release();
      assertWhy(await late, 'superseded');
      assertKind(await bob.finish(his), 'finished');
    },
  },
  {
    upholds: 'M-3',
    name: 'a result after the successor finished the execution is refused',
    async run(harness) {
      const { ann, bob, hers, his } = await takenOver(harness);
      assertKind(await bob.finish(his), 'finished');
      assertWhy(await ann.finish(hers), 'superseded');
      assert.equal(await statusOf(harness.store, hers.id), 'completed');
    },
  },
  {
    upholds: 'M-3',
    name: 'a result that differs from the stored one is refused, not taken for it',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      assertKind(await ann.record(held), 'recorded');
      assertWhy(await ann.write('record', writing(held, step('other'))), 'seq-taken');
      assert.equal((await kindsOf(harness.store, id)).length, 3);
    },
  },
  {
    upholds: 'M-3',
    name: 'a result with a gap before it is refused',
    async run(harness) {
      const { ann, held } = await owner(harness);
      assertWhy(await ann.record(later(held, 3)), 'seq-taken');
    },
  },
  {
    upholds: 'M-3',
    name: 'a fence that was never issued is refused, and halts nothing',
    async run(harness) {
      const { ann, held } = await owner(harness);
      const ahead = { ...held, fence: (held.fence + 1_000_000) as typeof held.fence };
      assertWhy(await ann.finish(ahead), 'fence-ahead');
      assertKind(await ann.finish(held), 'finished');
    },
  },
  {
    upholds: 'M-3',
    name: 'a result under another session than the claim’s is refused',
    async run(harness) {
      const { held } = await owner(harness);
      const bob = await peer(harness, 'bob');
      assertWhy(await bob.finish({ ...held, session: bob.id }), 'claim-ended');
    },
  },
  {
    upholds: 'M-3',
    name: 'a heartbeat after the end of its session does not revive it',
    async run(harness) {
      const ann = await peer(harness);
      assertKind(await ann.end(), 'ended');
      assertWhy(await ann.heartbeat(), 'session-ended');
      assertKind(await ann.request('claimExecutions', ann.claiming()), 'refused');
    },
  },
  {
    upholds: 'M-3',
    name: 'a heartbeat of another owner is refused',
    async run(harness) {
      const ann = await peer(harness);
      const mallory = Object.assign(new Peer(ann.transport, 'mallory'), { id: ann.id });
      assertKind(await mallory.heartbeat(), 'refused');
      assertKind(await ann.heartbeat(), 'alive');
    },
  },
  {
    upholds: 'M-3',
    name: 'an openSession that arrives after the end of its session opens nothing',
    async run(harness) {
      const ann = await peer(harness);
      assertKind(await ann.end(), 'ended');
      assertKind(await ann.request('openSession', ann.opening), 'refused');
    },
  },
  {
    upholds: 'M-3, M-9',
    name: 'a result for an execution that was cancelled while it waited is refused',
    async run(harness) {
      const { ann, held, id } = await owner(harness);
      assertKind(await ann.park(held), 'parked');
      await harness.store.executions.cancel(commanding(id));
      assertWhy(await ann.record(later(held)), 'not-running', 'superseded');
      assert.equal(await statusOf(harness.store, id), 'cancelled');
    },
  },
  {
    upholds: 'M-3',
    name: 'a session does not carry an execution that another session claimed',
    async run(harness) {
      const { ann } = await owner(harness);
      const bob = await peer(harness, 'bob');
      await mustSubmit(harness.store);
      await bob.mustClaim();
      assert.equal((await ann.carried()).length, 1);
      assert.equal((await bob.carried()).length, 1);
    },
  },
];
