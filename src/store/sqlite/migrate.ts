// Brings a file to the schema this build knows. Under the write lock, so that of ten processes that
// open a new file at once one makes the tables and nine find them.

import { readFile } from 'node:fs/promises';
import { Fault, InvalidInput } from '../../support/fault.ts';
import type { Connection } from './connection.ts';

/** In order; the schema's version is how many were applied. Never edited once released. */
export const MIGRATIONS: readonly string[] = [
  '0001-leases.sql',
  '0002-executions.sql',
  '0003-access.sql',
  '0005-seal.sql',
];

export const SCHEMA_VERSION: number = MIGRATIONS.length;

/** "HOLD": tells our files from those of other programs, which we must not fill with tables. */
export const APPLICATION_ID = 0x484f4c44;

export async function loadMigrations(): Promise<readonly string[]> {
  const folder = new URL('./migrations/', import.meta.url);
  return Promise.all(MIGRATIONS.map((name) => readFile(new URL(name, folder), 'utf8')));
}

/** May find the file locked; then nothing was done and it can be called again. */
export function migrate(connection: Connection, file: string, migrations: readonly string[]): void {
  connection.execute('begin immediate');
  try {
    const version = checkedVersion(connection, file);
    for (const sql of migrations.slice(version)) connection.execute(sql);
    if (version < SCHEMA_VERSION) {
      connection.execute(`pragma application_id = ${APPLICATION_ID}`);
      connection.execute(`pragma user_version = ${SCHEMA_VERSION}`);
    }
    // `begin immediate` does not mind a file that cannot be written; the first statement does.
    connection.execute('update meta set fence = fence where false');
    connection.execute('commit');
  } catch (error) {
    if (connection.isInTransaction) connection.execute('rollback');
    throw error;
  }
}

function checkedVersion(connection: Connection, file: string): number {
  const id = connection.get<{ application_id: number }>('pragma application_id')?.application_id;
  const version = connection.get<{ user_version: number }>('pragma user_version')?.user_version;
  const tables = connection.get<{ tables: number }>('select count(*) as tables from sqlite_schema');
  if (tables?.tables === 0) return 0;
  if (id !== APPLICATION_ID || version === undefined) {
    throw new InvalidInput(
      `"${file}" is a SQLite database of another program. Give Holdfast a file of its own.`,
    );
  }
  if (version > SCHEMA_VERSION) {
    throw new Fault(
      'store-too-new',
      `"${file}" was written by a newer Holdfast: its schema is ${version}, this build knows ${SCHEMA_VERSION}. Nothing was changed; use the newer build.`,
    );
  }
  return version;
}
