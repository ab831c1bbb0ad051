// A process that pauses during a migration, on a busy machine, still finishes it: workers may pause inside
// a transaction for two seconds only. A deadlock with live workers does not keep it from starting either.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { until } from '../processes/stage/until.ts';
import { postgresForTests } from '../services/postgres.ts';

const PAUSE_MS = 2_500;

test('a migration survives a pause that would end a transaction of a worker', async (t) => {
  const { url, release } = await postgresForTests();
  t.after(release);
  const { query } = pg.Client.prototype;
  t.mock.method(pg.Client.prototype, 'query', async function (this: pg.Client, ...given: never[]) {
    const [text] = given as readonly unknown[];
    if (typeof text === 'string' && text.includes('create table if not exists'))
      await pause(PAUSE_MS);
    return Reflect.apply(query, this, given);
  });
  const store = await openPostgresStore({ url, schema: 'slow' });
  assert.equal(store.kind, 'postgres');
  await store.close();
});

test('a migration that PostgreSQL ends because of a deadlock runs again', async (t) => {
  const { url, release } = await postgresForTests();
  const other = new pg.Client(url);
  await other.connect();
  t.after(() => other.end().finally(release));
  await other.query(`
    create schema locked;
    create table locked.migration (name text primary key, checksum text not null,
      older_builds_may_run boolean not null, applied_at timestamptz not null default now())`);
  await other.query('begin; lock table locked.migration in share mode');
  const opening = openPostgresStore({ url, schema: 'locked' });
  await until('the migration waits for the table', async () => {
    const { rows } = await other.query(
      "select 1 from pg_locks where not granted and relation = 'locked.migration'::regclass",
    );
    return rows.length > 0;
  });
  // The migration has waited for longer, so PostgreSQL ends its transaction.
  await other.query("select pg_advisory_xact_lock(hashtextextended('holdfast:locked', 0))");
  await other.query('commit');
  const store = await opening;
  assert.equal(store.kind, 'postgres');
  await store.close();
});
