// The coordinator knows the sender of every message. Other senders find nothing.

import assert from 'node:assert/strict';
import type { Transport } from '../../src/protocol/messages/envelope.ts';
import { WORK_KINDS, type WorkKind } from '../../src/protocol/messages/work-messages.ts';
import { digestOf } from '../../src/support/digest.ts';
import type { Fault } from '../../src/support/fault.ts';
import {
  commanding,
  finishing,
  kindsOf,
  mustSubmit,
  PROJECT,
  statusOf,
} from '../execution/worker.ts';
import { refusedWith, type TransportCase } from './contract-case.ts';
import { owner, type Peer, peer } from './peer.ts';

const BYTES = new TextEncoder().encode('bytes');

/** A body that the coordinator accepts from an allowed sender. */
function bodyOf(kind: WorkKind, ann: Peer, id: string): object {
  switch (kind) {
    case 'greet':
    case 'waitForWakeup':
      return {};
    case 'openSession':
      return ann.opening;
    case 'heartbeat':
      return { id: ann.id, owner: ann.owner };
    case 'endSession':
      return { id: ann.id, owner: ann.owner, exit: 'failed' };
    case 'claimExecutions':
      return ann.claiming();
    case 'announceWorker':
      return ann.announcing;
    case 'listClaims':
      return { id: ann.id };
    case 'writeAsOwner': {
      const held = { id, fence: 1, session: ann.id, seq: 1 } as never;
      return { writes: [{ verb: 'finish', ...finishing(held) }] };
    }
    case 'messageChild':
      return { id, child: id, fence: 1, session: ann.id, message: { kind: 'cancel' } };
    case 'putBlob':
    case 'getBlob':
      return { digest: digestOf(BYTES) };
    default:
      return { id };
  }
}

/** The faults of a read, and of any other message, without a reply. */
const SILENCE = ['store-unavailable', 'outcome-unknown'];

/** A sender without a key is refused whatever it sends. */
function refusedWithoutKey(kind: WorkKind): TransportCase {
  return {
    upholds: 'M-4',
    name: `${kind} from an unknown caller is refused, and nothing is done`,
    async run(harness) {
      const { ann, id } = await owner(harness);
      const before = await harness.store.executions.read(id);
      const transport = await harness.transport('anonymous');
      const body = bodyOf(kind, ann, id);
      const bytes = kind === 'putBlob' ? { bytes: BYTES } : {};
      const codes = harness.isSilent === true ? SILENCE : ['key-required'];
      await refusedWith(transport.request({ kind, body, ...bytes }), ...codes);
      assert.deepEqual(await harness.store.executions.read(id), before);
      const value = { project: PROJECT, digest: digestOf(BYTES) };
      assert.equal(await harness.store.executions.getBlob(value), undefined);
    },
  };
}

/** A sender of another project finds nothing to read or change. */
function notThereForStrangers(kind: WorkKind, code: string): TransportCase {
  return {
    upholds: 'M-4',
    name: `${kind} finds nothing of another project`,
    async run(harness) {
      const { ann, id } = await owner(harness);
      const before = await harness.store.executions.read(id);
      const transport = await harness.transport('stranger');
      await refusedWith(transport.request({ kind, body: bodyOf(kind, ann, id) }), code);
      assert.deepEqual(await harness.store.executions.read(id), before);
      assert.equal((await ann.heartbeat()).kind, 'alive');
    },
  };
}

const OF_SESSIONS = [
  ...(['heartbeat', 'endSession', 'claimExecutions'] as const),
  ...(['announceWorker', 'listClaims', 'writeAsOwner', 'messageChild'] as const),
];

export const identityCases: readonly TransportCase[] = [
  ...WORK_KINDS.map(refusedWithoutKey),
  ...OF_SESSIONS.map((kind) => notThereForStrangers(kind, 'session-unknown')),
  ...(['readInbox', 'readStoredHistory', 'readStoredExecution', 'expireAwaits'] as const).map(
    (kind) => notThereForStrangers(kind, 'execution-unknown'),
  ),
  {
    upholds: 'M-4',
    name: 'a worker of another project claims nothing of this project with its own session',
    needs: 'asking',
    async run(harness) {
      const id = await mustSubmit(harness.store);
      const eve = await peer(harness, 'eve', 'stranger');
      assert.deepEqual(await eve.claim(), []);
      assert.equal(await statusOf(harness.store, id), 'queued');
    },
  },
  {
    upholds: 'M-4',
    name: 'a write from another project with the right fence is refused as unknown',
    async run(harness) {
      const { held } = await owner(harness);
      const eve = await peer(harness, 'eve', 'stranger');
      const result = await eve.finish({ ...held, session: eve.id });
      assert.deepEqual([result.kind, result.why], ['refused', 'execution-unknown']);
    },
  },
  {
    upholds: 'M-4, X-28',
    name: 'a caller that knows a digest of another project gets the same answer as for a missing value',
    async run(harness) {
      const value = { digest: digestOf(BYTES) };
      const ann = await harness.transport();
      await ann.request({ kind: 'putBlob', body: value, bytes: BYTES });
      const eve = await harness.transport('stranger');
      const absent = { digest: 'f'.repeat(64) };
      const faults = await Promise.all([value, absent].map((body) => faultOf(eve, body)));
      assert.deepEqual(
        faults.map((each) => each?.code),
        ['not-found', 'not-found'],
      );
      assert.equal(faults[0]?.message.replaceAll(value.digest, absent.digest), faults[1]?.message);
      await eve.request({ kind: 'putBlob', body: value, bytes: BYTES });
      for (const each of [ann, eve]) {
        const bytes = await each.request<Uint8Array>({ kind: 'getBlob', body: value });
        assert.deepEqual(new Uint8Array(bytes), BYTES);
      }
    },
  },
  {
    upholds: 'M-6, X-28, M-23',
    name: 'a write that refers to a value its project has not put is refused, and accepted once it is put',
    async run(harness) {
      const { ann, held } = await owner(harness);
      const eve = await harness.transport('stranger');
      const value = { digest: digestOf(BYTES) };
      await eve.request({ kind: 'putBlob', body: value, bytes: BYTES });
      const writing = async (digest: string): Promise<{ readonly code?: string }> => {
        const body = JSON.stringify({ key: 'step:s#1', out: { ref: digest, size: 1 } });
        const events = [{ kind: 'step-completed', name: 's', body }];
        const write = { verb: 'record', ...held, events };
        const { results } = await ann.request<WriteResults>('writeAsOwner', { writes: [write] });
        return results[0] ?? {};
      };
      const refusals = await Promise.all([value.digest, 'f'.repeat(64)].map(writing));
      assert.deepEqual(
        refusals.map(({ code }) => code),
        ['invalid-input', 'invalid-input'],
      );
      const before = await kindsOf(harness.store, held.id);
      await (await harness.transport()).request({ kind: 'putBlob', body: value, bytes: BYTES });
      assert.equal((await writing(value.digest)).code, undefined);
      assert.deepEqual(await kindsOf(harness.store, held.id), [...before, 'step-completed']);
    },
  },
  {
    upholds: 'M-4, M-18',
    name: 'a worker submits into its own project only',
    async run(harness) {
      const { ann, held } = await owner(harness);
      const successor = { ...bodyOfChild(held.id), project: 'other' };
      const write = { verb: 'record', ...held, events: [], children: [successor] };
      await refusedWith(ann.request('writeAsOwner', { writes: [write] }), 'project-denied');
      assert.equal((await kindsOf(harness.store, held.id)).length, 2);
    },
  },
  {
    upholds: 'M-4',
    name: "a worker cannot submit under the engine's own names",
    async run(harness) {
      const { ann, held } = await owner(harness);
      const child = { ...bodyOfChild(held.id), pipeline: 'holdfast.job' };
      const write = { verb: 'record', ...held, events: [], children: [child] };
      await refusedWith(ann.request('writeAsOwner', { writes: [write] }), 'name-reserved');
    },
  },
  {
    upholds: 'M-4, M-9',
    name: 'the greeting has the worker’s project',
    async run(harness) {
      const greeted = await (await harness.transport()).request<{ readonly project: string }>({
        kind: 'greet',
      });
      assert.equal(greeted.project, 'default');
      const id = await mustSubmit(harness.store);
      await harness.store.executions.cancel(commanding(id));
    },
  },
];

function bodyOfChild(parent: string): object {
  const id = '01900000-0000-7000-8000-eeeeeeeeeeee';
  return {
    ...{ id, lineage: id, project: 'default', pipeline: 'orders', lane: 'batch' },
    ...{ input: '1', tags: [], attributes: {}, parent: { id: parent, call: 'child:a#1' } },
  };
}

interface WriteResults {
  readonly results: readonly { readonly code?: string }[];
}

async function faultOf(
  transport: Transport,
  body: object,
): Promise<{ readonly code: string; readonly message: string } | undefined> {
  try {
    await transport.request({ kind: 'getBlob', body });
  } catch (fault) {
    const { code, message } = fault as Fault;
    return { code, message };
  }
  return undefined;
}
