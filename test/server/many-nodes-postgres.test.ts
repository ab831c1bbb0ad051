import { after, test } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { isFullRun } from '../services/tier.ts';
import { nodesComeAndGo } from './nodes-come-and-go.ts';

const database = postgresForTests();

after(async () => (await database).release());

test('coordinators and workers under load, each killed or frozen in turn, lose and double nothing', async (t) => {
  const place = async () =>
    ({ kind: 'postgres', url: (await database).url, schema: 'many_nodes' }) as const;
  const size = isFullRun() ? { workers: 4, round: 120 } : { workers: 2, round: 40 };
  await nodesComeAndGo(t, place, { coordinators: 3, ...size });
});
