// Writes many executions directly into the tables: copies, with new ids, of one that the store has
// written. It reads the columns from the database, so it knows only the names of the key columns.

import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import type { StoreLocation } from '../store-location.ts';
import { fileOf, ORDER, schemaOf, stepsPipeline } from './open-subject.ts';

export interface Copied {
  readonly location: StoreLocation;
  readonly part?: string | undefined;
  readonly copies: number;
}

/** Rows per statement, to limit the size of a transaction. */
const PAGE = 50_000;

/** The copies keep the first part of the id, so that their order is the order of their numbers. */
const ID_KEPT = 24;

interface Copy {
  readonly table: string;
  /** The condition that selects the row of the original. */
  readonly where: string;
  /** SQL for columns that differ from the original in copy `n`. */
  readonly instead: Readonly<Record<string, string>>;
}

/** Runs one execution to its end and copies it. */
export async function copyEnded(holdfast: Holdfast, into: Copied): Promise<void> {
  const work = stepsPipeline(1);
  const worker = await holdfast.worker({ pipelines: [work] });
  const handle = await holdfast.submit(work, ORDER);
  await handle.result();
  await worker.stop();
  await copyExecution(handle.id, into);
}

export async function copyExecution(id: string, { location, part, copies }: Copied): Promise<void> {
  switch (location.kind) {
    case 'memory':
      throw new Error('Not measured: the memory store has no tables.');
    case 'sqlite':
      return copyInSqlite(fileOf(location, part), id, copies);
    case 'postgres':
      return copyInPostgres(location.url, { schema: schemaOf(part), id, copies });
  }
}

async function copyInSqlite(file: string, id: string, copies: number): Promise<void> {
  const database = new DatabaseSync(file, { timeout: 60_000 });
  const original = database.prepare('select row_id from execution where id = ?').get(id);
  const last = database.prepare('select max(row_id) as n from execution').get();
  const rowId = Number(original?.['row_id']);
  const instead = { row_id: `${Number(last?.['n'])} + n` };
  const newId = `substr(id, 1, ${ID_KEPT}) || printf('%012x', n)`;
  const tables: readonly Copy[] = [
    { table: 'execution', where: `row_id = ${rowId}`, instead: { ...instead, id: newId } },
    { table: 'input', where: `row_id = ${rowId}`, instead },
    { table: 'history', where: `row_id = ${rowId}`, instead },
  ];
  for (const [from, to] of pagesOf(copies)) {
    database.exec('begin immediate');
    for (const copy of tables) {
      const columns = database
        .prepare('select name from pragma_table_info(?)')
        .all(copy.table)
        .map(({ name }) => String(name));
      database.exec(
        `with recursive number(n) as (select ${from} union all select n + 1 from number where n < ${to})
         ${copying(copy, columns)} cross join number where ${copy.where}`,
      );
    }
    database.exec('commit');
  }
  database.close();
}

async function copyInPostgres(
  url: string,
  { schema, id, copies }: { readonly schema: string; readonly id: string; readonly copies: number },
): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` });
  await client.connect();
  const newId = (column: string): string =>
    `(left(${column}::text, ${ID_KEPT}) || lpad(to_hex(n), 12, '0'))::uuid`;
  const tables: readonly Copy[] = [
    { table: 'execution', where: `id = '${id}'`, instead: { id: newId('id') } },
    {
      table: 'history',
      where: `execution_id = '${id}'`,
      instead: { execution_id: newId('execution_id') },
    },
  ];
  for (const [from, to] of pagesOf(copies)) {
    for (const copy of tables) {
      const { rows } = await client.query<{ name: string }>(
        `select column_name::text as name from information_schema.columns
          where table_schema = $1 and table_name = $2`,
        [schema, copy.table],
      );
      const names = rows.map(({ name }) => name);
      await client.query(
        `${copying(copy, names)} cross join generate_series(${from}, ${to}) as number(n) where ${copy.where}`,
      );
    }
  }
  await client.end();
}

function copying({ table, instead }: Copy, columns: readonly string[]): string {
  const values = columns.map((column) => instead[column] ?? column);
  return `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${table}`;
}

function pagesOf(copies: number): readonly (readonly [number, number])[] {
  return Array.from({ length: Math.ceil(copies / PAGE) }, (_, page) => [
    page * PAGE + 1,
    Math.min(copies, (page + 1) * PAGE),
  ]);
}
