import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import pg from 'pg';
import { openForExport } from '../../src/embedded/export-store.ts';
import type { ExportPort } from '../../src/features/export/port.ts';
import { EXPORTED_TABLES, LEFT_TABLES, sealedTables } from '../../src/features/export/rows.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { inFolder } from '../cli/spawned.ts';
import { postgresForTests } from '../services/postgres.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';
import { refusesWhatWasMadeByHand } from './by-hand.ts';

async function columns(port: ExportPort): Promise<ReadonlyMap<string, readonly string[]>> {
  try {
    await port.seals.seal({ id: 'a', actor: 'test', reason: 'test', to: 'nowhere' });
    return await port.dump(async ({ rows }) => {
      const found = new Map<string, readonly string[]>();
      for await (const some of rows) found.set(some.table, [...some.columns].sort());
      return found;
    });
  } finally {
    await port.close();
  }
}

test('EX-5: every table of the SQLite schema is exported, or listed as staying with a reason', async () => {
  const { file, remove } = await freshSqliteFile();
  await (await openSqliteStore({ file })).close();
  const database = new DatabaseSync(file);
  const rows = database
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name <> 'migration'",
    )
    .all();
  database.close();
  await remove();
  assert.deepEqual(rows.map(({ name }) => String(name)).sort(), [...sealedTables('sqlite')].sort());
  for (const { why } of LEFT_TABLES) assert.ok(why.length > 20);
});

test('EX-5: every table of the PostgreSQL schema is exported, and both stores export the same columns', {}, async () => {
  const { url, release } = await postgresForTests();
  const { file, remove } = await freshSqliteFile();
  try {
    await (await openPostgresStore({ url, schema: 'tables' })).close();
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'tables' and tablename <> 'migration'",
    );
    await client.end();
    assert.deepEqual(rows.map(({ name }) => name).sort(), [...sealedTables('postgres')].sort());
    const ofPostgres = await columns(await openForExport(url, { schema: 'tables' }));
    const ofSqlite = await columns(await openForExport(file));
    assert.deepEqual(ofPostgres, ofSqlite);
    assert.deepEqual(
      [...ofSqlite.keys()],
      EXPORTED_TABLES.map(({ name }) => name),
    );
  } finally {
    await remove();
    await release();
  }
});

test('EX-1: every table refuses writes by itself, whatever build or program writes to it', {}, async () => {
  const { url, release } = await postgresForTests();
  const { file, remove } = await freshSqliteFile();
  const database = new DatabaseSync(file);
  const client = new pg.Client(url);
  try {
    await columns(await openForExport(url, { schema: 'tables' }));
    await columns(await openForExport(file));
    await client.connect();
    const why = /This store is sealed: test exported it to nowhere/;
    for (const table of sealedTables('sqlite')) {
      assert.throws(() => database.exec(`insert into ${table} default values`), why, table);
    }
    assert.throws(() => database.exec('update meta set fence = 0'), why);
    for (const table of sealedTables('postgres')) {
      await assert.rejects(client.query(`delete from tables.${table}`), why, table);
      await assert.rejects(client.query(`truncate tables.${table}`), why, table);
    }
  } finally {
    database.close();
    await client.end();
    await remove();
    await release();
  }
});

test('EX-9: PostgreSQL imports nothing of a handmade file', async () => {
  const { url, release } = await postgresForTests();
  try {
    const place = { store: url, postgres: { schema: 'forged' } };
    await inFolder((folder) => refusesWhatWasMadeByHand(folder, place));
  } finally {
    await release();
  }
});
