import { after, test } from 'node:test';
import { startPgbouncer } from '../services/pgbouncer.ts';
import { postgresForTests } from '../services/postgres.ts';
import { nodesComeAndGo } from './nodes-come-and-go.ts';

const database = await postgresForTests();
const pooler = await startPgbouncer(database.url);

after(async () => {
  await pooler.stop();
  await database.release();
});

test('nodes come and go on PostgreSQL behind an undeclared pooler in transaction mode', async (t) => {
  t.diagnostic(`PgBouncer ${pooler.version} from ${pooler.source}`);
  const place = () => ({ kind: 'postgres', url: pooler.url, schema: 'many_nodes' }) as const;
  await nodesComeAndGo(t, place, { coordinators: 2, workers: 2, round: 60 });
});
