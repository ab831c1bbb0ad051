// A sealed store refuses writes of every caller (EX-1, EX-6).

import assert from 'node:assert/strict';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import {
  acquiring,
  beginning,
  draining,
  type Held as Lease,
  mustAcquire,
  type OpenedSession,
  OTHER_KEY,
  openingOf,
  revoking,
  saving,
} from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  claiming,
  commanding,
  finishing,
  type Held,
  mustSubmit,
  PIPELINE,
  PROJECT,
  parking,
  payload,
  running,
  signalling,
  submitting,
  transacting,
  worker,
  writing,
} from '../worker.ts';
import { expectSealed, mustSeal, mustUnseal, SEAL } from './sealing.ts';

interface Scene {
  readonly store: CoordinatorStore;
  readonly ann: OpenedSession;
  readonly lease: Lease;
  readonly held: Held;
  readonly queued: Held['id'];
}

type Write = (scene: Scene) => Promise<unknown>;

const OF_LEASES: Readonly<Record<string, Write>> = {
  'sessions.open': ({ store }) => store.sessions.open(openingOf('a new owner')),
  'sessions.heartbeat': ({ store, ann }) => store.sessions.heartbeat(ann),
  'sessions.end': ({ store, ann: { id, owner } }) =>
    store.sessions.end({ id, by: { kind: 'owner', owner, exit: 'finished' } }),
  'leases.acquire': ({ store, ann }) => store.leases.acquire(acquiring(ann, { key: OTHER_KEY })),
  'leases.checkpoint': ({ store, lease }) => store.leases.checkpoint(saving(lease.tenure, 9)),
  'leases.beginIntent': ({ store, lease }) =>
    store.leases.beginIntent(beginning(lease.tenure, 'a late effect')),
  'leases.release': ({ store, lease }) =>
    store.leases.release({ ...lease.tenure, exit: 'finished' }),
  'leases.requestDrain': ({ store, lease }) => store.leases.requestDrain(draining(lease)),
  'leases.revoke': ({ store, lease }) => store.leases.revoke(revoking(lease)),
  raiseEpoch: ({ store }) => store.raiseEpoch({ actor: 'olga', reason: 'to be sure' }),
};

const OF_EXECUTIONS: Readonly<Record<string, Write>> = {
  submit: ({ store }) => store.executions.submit(submitting()),
  claim: ({ store, ann }) => store.executions.claim(claiming(ann)),
  record: ({ store, held }) => store.executions.record(writing(held)),
  transact: ({ store, held }) => store.executions.transact(transacting(held, () => 1)),
  finish: ({ store, held }) => store.executions.finish(finishing(held)),
  park: ({ store, held }) => store.executions.park(parking(held)),
  giveBack: ({ store, held }) =>
    store.executions.giveBack(writing(held, { kind: 'given-back', body: payload({}) })),
  cancel: ({ store, queued }) => store.executions.cancel(commanding(queued)),
  pause: ({ store, queued }) => store.executions.pause(commanding(queued)),
  signal: ({ store, queued }) => store.executions.signal(signalling(queued)),
  putBlob: ({ store }) =>
    store.executions.putBlob({ project: PROJECT, digest: 'a'.repeat(64), bytes: Uint8Array.of(1) }),
  attributeBlobs: ({ store }) =>
    store.executions.attributeBlobs({ project: PROJECT, digests: ['a'.repeat(64)] }),
};

const WRITES = Object.entries({ ...OF_LEASES, ...OF_EXECUTIONS });

async function sceneOn(store: CoordinatorStore): Promise<Scene> {
  const ann = await worker(store);
  const lease = await mustAcquire(store, ann);
  const held = await running(store, ann);
  return { store, ann, lease, held, queued: await mustSubmit(store) };
}

export const sealedCases: readonly ExecutionCase[] = [
  ...WRITES.map(
    ([verb, write]): ExecutionCase => ({
      upholds: 'EX-1',
      name: `a sealed store refuses ${verb}, also from holders, and nothing changes`,
      async run({ store }) {
        const scene = await sceneOn(store);
        await mustSeal(store);
        await leavesUnchanged(store, () => expectSealed(() => write(scene)));
        await mustUnseal(store);
      },
    }),
  ),
  {
    upholds: 'EX-1',
    name: 'once one process seals the store, other processes cannot write and can still read',
    needs: 'two-clients',
    async run({ store, another }) {
      const scene = await sceneOn(store);
      const other = await another();
      await mustSeal(other);
      for (const [, write] of WRITES) await expectSealed(() => write(scene));
      assert.equal((await store.executions.read(scene.queued))?.status, 'queued');
      assert.equal((await store.seals.read())?.actor, 'olga');
      await mustUnseal(store);
    },
  },
  {
    upholds: 'EX-1',
    name: 'a sealed store can still be counted, and shows releases, workers and archived executions',
    async run({ store }) {
      const { executions } = store;
      const { ann, queued } = await sceneOn(store);
      await mustSeal(store);
      const [of, limit] = [{ project: PROJECT, pipeline: PIPELINE }, 9];
      const counts = await executions.depth({ max: limit });
      assert.equal(
        counts.reduce((sum, { ready }) => sum + ready, 0),
        2,
      );
      assert.deepEqual(await executions.inFlight({ sessions: [ann.id] }), []);
      assert.deepEqual(await executions.releases({ ...of, limit }), []);
      assert.deepEqual(await executions.rollouts({ project: PROJECT, limit }), []);
      assert.deepEqual(await executions.activations({ ...of, limit }), []);
      assert.deepEqual(await executions.pinned(of), []);
      assert.deepEqual(await executions.workers({ limit }), []);
      assert.deepEqual((await executions.removable({ endedMs: 0, limit })).items, []);
      assert.equal(await executions.archived(queued), undefined);
      assert.deepEqual(await executions.listArchived({ project: PROJECT, limit }), []);
      await mustUnseal(store);
    },
  },
  {
    upholds: 'EX-1, EX-10',
    name: 'a second seal changes nothing and returns the first',
    async run({ store }) {
      assert.equal(await store.seals.read(), undefined);
      await mustSeal(store);
      const again = await store.seals.seal({ ...SEAL, id: SEAL.id.replace(/1$/, '2'), to: 'b' });
      assert.equal(expectKind(again, 'already').seal.to, SEAL.to);
      assert.deepEqual(await store.seals.read(), again.seal);
      await mustUnseal(store);
    },
  },
  {
    upholds: 'EX-6',
    name: 'an unsealed store issues fences above all it had issued; unsealing an open store is refused',
    async run({ store }) {
      const { lease, held } = await sceneOn(store);
      await mustSeal(store);
      const epoch = await mustUnseal(store);
      assert.equal(await store.seals.read(), undefined);
      const again = await store.seals.unseal({ actor: 'olga', reason: 'again' });
      assert.deepEqual(again, { kind: 'refused', why: 'not-sealed' });
      const ben = await worker(store, 'ben');
      const next = await mustAcquire(store, ben);
      assert.ok(next.fence > lease.fence && next.fence > held.fence);
      assert.ok(next.fence > epoch * 2 ** 40);
      const imported = Math.floor(Math.max(lease.fence, held.fence) / 2 ** 40) + 1;
      assert.ok(epoch > imported + 1, 'no fence of a store that its export was imported to');
      const late = await store.executions.record(writing(held));
      assert.equal(late.kind, 'refused', 'the session of the old owner has ended with the seal');
      await store.executions.submit(submitting({ project: PROJECT, pipeline: PIPELINE }));
    },
  },
];
