// Runs the sample of the guide: a replaced holder cannot pay.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Fenced, type MysqlConnection, StaleFence } from '../../src/guards/mysql.ts';
import { startMariadb } from '../services/mariadb.ts';
import { FIRST, SECOND } from './fences.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Pool extends MysqlConnection {
  end(): Promise<void>;
}

interface Sample {
  openPool(options: { socketPath: string; database: string }): Pool;
  migrate(pool: Pool): Promise<void>;
  begin(pool: Pool, lease: Fenced): Promise<void>;
  pay(pool: Pool, lease: Fenced, invoice: string): Promise<void>;
}

/** The first block of the page, as a module. */
async function loadSample(folder: string): Promise<Sample> {
  const guide = await readFile(join(ROOT, 'docs/guides/guard-mysql.md'), 'utf8');
  const [, code = ''] = /```ts\n(.*?)```/s.exec(guide) ?? [];
  const guards = pathToFileURL(join(ROOT, 'src/guards/mysql.ts')).href;
  const driver = pathToFileURL(createRequire(import.meta.url).resolve('mysql2/promise')).href;
  const runnable = code
    .replace("'holdfast/guards/mysql'", `'${guards}'`)
    .replace("'mysql2/promise'", `'${driver}'`);
  const file = join(folder, 'sample.ts');
  await writeFile(file, runnable);
  return (await import(pathToFileURL(file).href)) as Sample;
}

test('the sample refuses the payment of a replaced holder', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-sample-'));
  t.after(() => rm(folder, { recursive: true }));
  const mariadb = await startMariadb();
  t.after(() => mariadb.stop());
  const { openPool, migrate, begin, pay } = await loadSample(folder);
  const setup = openPool({ socketPath: mariadb.socket, database: 'information_schema' });
  await setup.query('create database app', []);
  await setup.end();
  const pool = openPool({ socketPath: mariadb.socket, database: 'app' });
  t.after(() => pool.end());
  await migrate(pool);
  await pool.query('create table payment (invoice varchar(20) primary key)', []);
  const [ann, bob] = [FIRST, SECOND].map((fence) => ({ key: 'billing', fence }));
  assert.ok(ann && bob);
  await begin(pool, ann);
  await pay(pool, ann, 'one');
  await begin(pool, bob);
  await assert.rejects(pay(pool, ann, 'two'), StaleFence);
  await assert.rejects(begin(pool, ann), /was granted after us/);
  await pay(pool, bob, 'three');
  const [rows] = await pool.query('select invoice from payment order by invoice', []);
  assert.deepEqual(JSON.stringify(rows), '[{"invoice":"one"},{"invoice":"three"}]');
});
