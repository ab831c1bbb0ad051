import assert from 'node:assert/strict';
import type { ProjectName } from '../../src/execution/names.ts';
import type { CountedQuota } from '../../src/features/access/model.ts';
import { storedKeyOf } from '../../src/features/leases/model.ts';
import { PROJECT_METADATA } from '../../src/lease/session.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { digestOf } from '../../src/support/digest.ts';
import {
  mustFinish,
  mustPark,
  mustSubmit,
  OTHER_PIPELINE,
  payload,
  running,
  worker,
  writing,
} from '../execution/worker.ts';
import { expectKind } from '../lease/expect.ts';
import { keyOf, mustAcquire, mustRelease, openedSession } from '../lease/opened-session.ts';
import type { AccessCase } from './contract-case.ts';
import { OTHER_PROJECT, PROJECT } from './test-keys.ts';

const MAX = 100;

async function usageOf(
  { access }: CoordinatorStore,
  quota: CountedQuota,
  max: number = MAX,
): Promise<readonly number[]> {
  const of = (project: ProjectName): Promise<number> => access.usage({ project, quota, max });
  return Promise.all([PROJECT, OTHER_PROJECT].map(of));
}

export const usageCases: readonly AccessCase[] = [
  {
    upholds: 'P-14',
    name: 'queued, delayed, held, parked and running executions count as open',
    async run({ store }) {
      const project = PROJECT;
      const ann = await worker(store);
      await mustFinish(store, await running(store, ann, { project }));
      await mustPark(store, await running(store, ann, { project }));
      await running(store, ann, { project });
      await mustSubmit(store, { project, delayMs: 60_000 });
      await mustSubmit(store, { project, pipeline: OTHER_PIPELINE });
      const held = await mustSubmit(store, { project, pipeline: OTHER_PIPELINE });
      await store.executions.pause({ project, id: held, body: payload({}) });
      await mustSubmit(store, { project: OTHER_PROJECT });
      assert.deepEqual(await usageOf(store, 'executions'), [5, 1]);
      assert.deepEqual(await usageOf(store, 'executions', 3), [3, 1]);
    },
  },
  {
    upholds: 'P-14',
    name: 'live sessions count for their project',
    async run({ store }) {
      const metadata = { [PROJECT_METADATA]: OTHER_PROJECT };
      await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob', { metadata });
      await openedSession(store, 'cas', { metadata });
      await store.sessions.end({
        id: bob.id,
        by: { kind: 'owner', owner: bob.owner, exit: 'finished' },
      });
      assert.deepEqual(await usageOf(store, 'sessions'), [0, 1]);
    },
  },
  {
    upholds: 'P-14, M-39',
    name: 'lease keys count for their project, held or not',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const taken = [storedKeyOf(PROJECT, 'a'), storedKeyOf(PROJECT, 'b')];
      for (const key of [...taken, storedKeyOf(OTHER_PROJECT, 'a'), keyOf('embedded')]) {
        const { tenure } = await mustAcquire(store, ann, { key });
        if (key === taken[0]) await mustRelease(store, tenure);
      }
      assert.deepEqual(await usageOf(store, 'leases'), [2, 1]);
      assert.deepEqual(await usageOf(store, 'leases', 1), [1, 1]);
    },
  },
  {
    upholds: 'P-14',
    name: 'values kept apart count their bytes once for each project, and attachments count too',
    async run({ store }) {
      const bytes = new Uint8Array([1, 2, 3]);
      const digest = digestOf(bytes);
      for (const project of [PROJECT, PROJECT, OTHER_PROJECT]) {
        await store.executions.putBlob({ project, digest, bytes });
      }
      const ann = await worker(store);
      const held = await running(store, ann, { project: PROJECT });
      const attachments = [{ name: 'a', type: 'text/plain', bytes }];
      expectKind(await store.executions.record({ ...writing(held), attachments }), 'recorded');
      assert.deepEqual(await usageOf(store, 'bytes'), [6, 3]);
    },
  },
];
