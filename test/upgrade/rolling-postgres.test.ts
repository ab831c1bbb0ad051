// The build before this one and this one together, under load, on one PostgreSQL (ADR 0022).

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { type Build, PRESENT_BUILD } from '../server/build.ts';
import { Deployment } from '../server/deployment.ts';
import { postgresForTests } from '../services/postgres.ts';
import { migrateFurther } from './newer-schema.ts';
import { packedBuild } from './packed-build.ts';

const database = postgresForTests();
after(async () => (await database).release());

const ROUND = 40;
const SHAPE = { coordinators: 2, ttlMs: 2_000 };
const WORKERS = ['worker-1', 'worker-2'] as const;

async function placed(schema: string): Promise<{ readonly url: string; readonly schema: string }> {
  return { url: (await database).url, schema };
}

test('coordinators and workers are replaced one by one, workers first: nothing is lost or doubled, and no call fails', async (t) => {
  const previous = await packedBuild('previous');
  t.diagnostic(`the build before is ${previous.commit}`);
  const place = { kind: 'postgres', ...(await placed('upgrade')) } as const;
  const nodes = await Deployment.open(() => place, SHAPE);
  const replace = async (name: string, start: (build: Build) => Promise<void>): Promise<void> => {
    const submitting = nodes.submit(ROUND);
    await nodes.end(name, 'SIGTERM');
    await start(PRESENT_BUILD);
    await submitting;
  };
  try {
    await nodes.startCoordinator(0, previous);
    await nodes.startCoordinator(1, previous);
    await Promise.all(WORKERS.map((owner) => nodes.startWorker(owner, previous)));
    await nodes.submit(ROUND);
    // A worker of this build at coordinators of the one before; then the other way round.
    await replace(WORKERS[0], (build) => nodes.startWorker(WORKERS[0], build));
    await replace('coordinator-0', (build) => nodes.startCoordinator(0, build));
    // The schema is migrated while the old build works on it, further than even this build knows.
    await migrateFurther({ ...place, olderBuildsMayRun: true });
    await replace('coordinator-1', (build) => nodes.startCoordinator(1, build));
    await nodes.submit(ROUND);
    await replace(WORKERS[1], (build) => nodes.startWorker(WORKERS[1], build));
    // And back: an upgrade can be undone, on the schema that is newer by now.
    await nodes.end('coordinator-0', 'SIGTERM');
    await nodes.startCoordinator(0, previous);
    await nodes.submit(ROUND);
    const { executions, repeated, stale, perSecond } = await nodes.settle();
    t.diagnostic(`${executions} executions, ${repeated} effects repeated`);
    t.diagnostic(`ended in each second: ${perSecond.join(' ')}`);
    assert.deepEqual({ stale, faults: nodes.faults }, { stale: 0, faults: 0 });
  } finally {
    await nodes.close();
  }
});

test('a schema that forbids older builds lets neither build in, and both name the migration', async () => {
  const place = await placed('too_new');
  await (await openPostgresStore(place)).close();
  await migrateFurther({ ...place, olderBuildsMayRun: false });
  const previous = await packedBuild('previous');
  const nodes = await Deployment.open(() => ({ kind: 'postgres', ...place }), SHAPE);
  try {
    for (const build of [previous, PRESENT_BUILD]) {
      await assert.rejects(nodes.startCoordinator(0, build), /9999-additive.*Upgrade this process/);
    }
  } finally {
    await nodes.close();
  }
});
