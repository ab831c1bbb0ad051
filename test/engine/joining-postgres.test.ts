import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Pool } from 'pg';
import { Holdfast, pipeline } from '../../src/index.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { until } from '../server/coordinator.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerJoining, type User } from './joining/cases.ts';

const { url, release } = await postgresForTests();
const pool = new Pool({ connectionString: url, options: '-c search_path=holdfast,public' });
// A connection that is still closing when the database is dropped reports an error.
pool.on('error', () => undefined);
pool.on('connect', (client) => client.on('error', () => undefined));
const store = await openPostgresStore({ url });
const holdfast = new Holdfast({ store });
await pool.query('create table if not exists public.bought (n integer primary key)');

after(async () => {
  await holdfast.close();
  await store.close();
  await pool.end();
  await release();
});

async function connect(): Promise<User> {
  const client = await pool.connect();
  return {
    client,
    run: async (sql) => (await client.query(sql)).rows,
    close: async () => client.release(),
  };
}

test('X-59: the loser of a race for a key gets the winner, in a transaction that goes on', async () => {
  const order = pipeline({ name: 'order', run: async (_, n: number) => n });
  const [first, second] = [await connect(), await connect()];
  await first.run('begin');
  const winner = await holdfast.submit(order, 4, { client: first.client, key: 'race' });
  await second.run('begin');
  await second.run('insert into bought values (1000)');
  const losing = holdfast.submit(order, 4, { client: second.client, key: 'race' });
  const WAITING = "select from pg_stat_activity where wait_event = 'transactionid'";
  await until(async () => ((await pool.query(WAITING)).rowCount === 0 ? undefined : true));
  await first.run('commit');
  const loser = await losing;
  await second.run('commit');
  assert.deepEqual([loser.id, loser.existing], [winner.id, true]);
  assert.equal((await first.run('select n from bought where n = 1000')).length, 1);
  await Promise.all([first.close(), second.close()]);
});

registerJoining({ holdfast, place: url, connect });
