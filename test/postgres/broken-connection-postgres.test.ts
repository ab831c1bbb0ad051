// A connection that breaks while nobody waits for an answer on it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { Database, STORE_NOW_SQL } from '../../src/store/postgres/database.ts';
import { StoreUnavailable } from '../../src/support/fault.ts';
import { isExcluded } from '../services/excluded.ts';
import { postgresForTests } from '../services/postgres.ts';

const skip = isExcluded('postgres') && 'PostgreSQL was excluded by name';

async function endConnection(url: string, pid: number): Promise<void> {
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query('select pg_terminate_backend($1)', [pid]);
  await admin.end();
}

test('a connection that breaks between two statements of a transaction fails that and nothing else', {
  skip,
}, async (t) => {
  const { url, release } = await postgresForTests();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  pool.on('error', () => undefined);
  t.after(async () => {
    // Not awaited: when this fails a connection is out for ever.
    void pool.end();
    await release();
  });
  const database = new Database(pool, { schema: 'hf', nowSql: STORE_NOW_SQL, prepare: false });
  const breaking = database.attempt(async (_queries, client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await endConnection(url, rows[0]?.pid ?? 0);
    // Here nobody waits for the server; what it says then would end the process.
    await ended;
    return { keep: true, result: undefined };
  });
  await assert.rejects(breaking, StoreUnavailable);
  const answer = await database.attempt(async (_queries, client) => {
    const { rows } = await client.query<{ one: number }>('select 1 as one');
    return { keep: false, result: rows[0]?.one };
  });
  assert.equal(answer, 1, 'the next transaction has a connection that works');
});
