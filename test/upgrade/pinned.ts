// Pinned executions that a process of the build before ends. The older build knows no releases, and
// reads the pipeline's name from the row.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import {
  mustActivate,
  mustClaimOf,
  workerOf,
} from '../../contract/execution/releases/releasing.ts';
import { letter } from '../../contract/execution/repair/repairing.ts';
import {
  claimIds,
  mustFinish,
  mustSubmit,
  PIPELINE,
  PROJECT,
  worker,
} from '../../contract/execution/worker.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openAddressed, type StorePlace } from '../load/place.ts';
import { packedBuild } from './packed-build.ts';

async function openByPrevious(place: StorePlace): Promise<CoordinatorStore> {
  const { cli } = await packedBuild('0d29afd');
  const file = join(dirname(cli), `../store/${place.kind}/open.js`);
  const { openPostgresStore, openSqliteStore } = await import(file);
  const { kind, ...options } = place;
  return kind === 'postgres' ? openPostgresStore(options) : openSqliteStore(options);
}

export function registerPinned(kind: string, placeOf: () => Promise<StorePlace>): void {
  test(`${kind}: the build before claims no pinned execution, and one that it ends is found under its pipeline and release`, async () => {
    const place = await placeOf();
    // It was open before the migration, and continues after it.
    const before = await openByPrevious(place);
    const store = await openAddressed(place);
    try {
      await mustActivate(store, 'v1');
      const id = await mustSubmit(store);
      assert.deepEqual(await claimIds(before, await worker(before, 'old')), []);
      const held = await mustClaimOf(store, await workerOf(store, 'v1'), 'v1');
      // Like a worker whose coordinator is now of that build.
      await mustFinish(before, held, { status: 'failed', deadLetter: letter() });
      const { executions } = store;
      const found = await executions.deadLetter(id);
      assert.deepEqual([found?.pipeline, found?.release], [PIPELINE, 'v1']);
      const listed = await executions.deadLetters({
        ...{ project: PROJECT, pipeline: PIPELINE, limit: 9 },
      });
      assert.deepEqual(
        listed.map(({ execution }) => execution),
        [id],
      );
      const groups = await executions.deadLetterGroups({ project: PROJECT });
      assert.deepEqual(
        groups.map(({ pipeline, count }) => [pipeline, count]),
        [[PIPELINE, 1]],
      );
      // Its submits are unpinned, so every worker takes them.
      const plain = await mustSubmit(before);
      const next = await workerOf(store, 'v1', 'next');
      assert.equal((await mustClaimOf(store, next, 'v1')).id, plain);
    } finally {
      await before.close();
      await store.close();
    }
  });
}
