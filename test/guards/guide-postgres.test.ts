// Runs the sample of the guide: the server closes a connection in a transaction, and an idle one.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { postgresForTests } from '../services/postgres.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Sample {
  openPool(url: string): pg.Pool;
}

/** The first block of the page, as a module. */
async function loadSample(folder: string): Promise<Sample> {
  const guide = await readFile(join(ROOT, 'docs/guides/guard-postgres.md'), 'utf8');
  const [, code = ''] = /```ts\n(.*?)```/s.exec(guide) ?? [];
  const guards = pathToFileURL(join(ROOT, 'src/guards/postgres.ts')).href;
  const runnable = code
    .replace("'holdfast/guards/postgres'", `'${guards}'`)
    .replace("'pg'", `'${import.meta.resolve('pg')}'`);
  const file = join(folder, 'sample.ts');
  await writeFile(file, runnable);
  return (await import(pathToFileURL(file).href)) as Sample;
}

test('the sample survives a server that closes its connections', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-sample-'));
  t.after(() => rm(folder, { recursive: true }));
  const { url, release } = await postgresForTests();
  t.after(release);
  const { openPool } = await loadSample(folder);
  const pool = openPool(url);
  const [held, idle] = [await pool.connect(), await pool.connect()];
  await held.query('begin');
  idle.release();
  const admin = new pg.Client(url);
  await admin.connect();
  const ended = new Promise<void>((resolve) => held.once('end', resolve));
  const closed = Promise.all([ended, once(pool, 'error')]);
  await admin.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  await closed;
  await assert.rejects(held.query('select 1'));
  held.release(true);
  assert.equal((await pool.query('select 1 as one')).rows[0].one, 1);
  await Promise.all([pool.end(), admin.end()]);
});
