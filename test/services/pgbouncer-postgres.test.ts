import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, test } from 'node:test';
import pg from 'pg';
import { startPgbouncer } from './pgbouncer.ts';
import { postgresForTests } from './postgres.ts';

const database = postgresForTests();

after(async () => (await database).release());

test('a private pooler shares connections between transactions, and leaves nothing', {}, async (t) => {
  const pooler = await startPgbouncer((await database).url, { default_pool_size: '1' });
  t.after(() => pooler.stop());
  t.diagnostic(`PgBouncer ${pooler.version} from ${pooler.source}`);
  const clients = [1, 2].map(() => new pg.Client({ connectionString: pooler.url }));
  const pids = new Set<unknown>();
  for (const client of clients) {
    await client.connect();
    pids.add((await client.query('select pg_backend_pid() as pid')).rows[0]?.pid);
  }
  assert.equal(pids.size, 1, 'two clients on one connection');
  for (const client of clients) await client.end();
  await pooler.stop();
  await pooler.stop();
  assert.equal(existsSync(pooler.folder), false, 'the folder must be gone');
});

test('a pooler that cannot start is an error', async () => {
  const { url } = await database;
  await assert.rejects(startPgbouncer(url, { 'no such setting': '1' }), /before it was ready/);
});
