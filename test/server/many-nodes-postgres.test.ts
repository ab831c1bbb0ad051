import { after, test } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { Deployment } from './deployment.ts';

const database = postgresForTests();
const COORDINATORS = [0, 1, 2];
const WORKERS = ['worker-1', 'worker-2', 'worker-3', 'worker-4'] as const;
const ROUND = 200;

after(async () => (await database).release());

test('three coordinators and four workers under load, each killed in its turn: nothing is lost, nothing doubled', async (t) => {
  const place = async () =>
    ({ kind: 'postgres', url: (await database).url, schema: 'many_nodes' }) as const;
  const nodes = await Deployment.open(place, { coordinators: COORDINATORS.length, ttlMs: 2_000 });
  try {
    await nodes.startCoordinator(0);
    await Promise.all(COORDINATORS.slice(1).map((nth) => nodes.startCoordinator(nth)));
    await Promise.all(WORKERS.map((owner) => nodes.startWorker(owner)));
    await nodes.submit(ROUND);
    for (const [turn, owner] of WORKERS.entries()) {
      const nth = turn % COORDINATORS.length;
      const submitting = nodes.submit(ROUND);
      await nodes.end(`coordinator-${nth}`, 'SIGKILL');
      await nodes.end(owner, 'SIGKILL');
      await Promise.all([nodes.startCoordinator(nth), nodes.startWorker(owner), submitting]);
    }
    const { executions, repeated, perSecond } = await nodes.settle();
    t.diagnostic(
      `${executions} executions, ${repeated} effects repeated; ended in each second: ${perSecond.join(' ')}`,
    );
  } finally {
    await nodes.close();
  }
});
