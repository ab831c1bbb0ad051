// Migrates a file to the schema of this build. It holds the write lock: if ten processes open a new
// file at once, one creates the tables and nine find them. The first line of a migration states if
// older builds may still run. The file stores that for them (ADR 0022).

import { readFileSync } from 'node:fs';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { bundledAway } from '../bundled-away.ts';
import type { Connection } from './connection.ts';

/**
 * The migrations in order. The schema version is the number applied. Never edit a released file.
 */
export const MIGRATIONS: readonly string[] = [
  '0001-leases.sql',
  '0002-executions.sql',
  '0003-access.sql',
  '0004-archive.sql',
  '0005-seal.sql',
  '0006-releases.sql',
  '0007-blob-projects.sql',
  '0008-rate-starts.sql',
  '0009-clock-seen.sql',
  '0010-quotas.sql',
  '0011-carriers.sql',
  '0012-overview.sql',
  '0013-saved-views.sql',
  '0014-due-in-turn.sql',
  '0015-heartbeats.sql',
  '0016-longest.sql',
  '0017-message-keys.sql',
  '0018-late-writes.sql',
  '0019-channels.sql',
  '0020-announced-questions.sql',
  '0021-erased.sql',
  '0022-alerts.sql',
  '0023-answers.sql',
  '0024-pending-erasures.sql',
  '0025-due-questions.sql',
  '0026-correlations.sql',
  '0027-announced-inputs.sql',
  '0028-question-slots.sql',
  '0029-dropped-answers.sql',
];

export const SCHEMA_VERSION: number = MIGRATIONS.length;

/**
 * "HOLD". It distinguishes Holdfast's files from those of other programs, to which Holdfast must
 * not add tables.
 */
export const APPLICATION_ID = 0x484f4c44;

/** Throws if the file is locked. Nothing was done then, and the caller can try again. */
export function migrate(connection: Connection, file: string): void {
  connection.execute('begin immediate');
  try {
    const version = checkedVersion(connection, file);
    if (version < SCHEMA_VERSION) {
      connection.execute(APPLIED);
      for (let at = version; at < SCHEMA_VERSION; at += 1) apply(connection, at);
      connection.execute(`pragma application_id = ${APPLICATION_ID}`);
      connection.execute(`pragma user_version = ${SCHEMA_VERSION}`);
    }
    // `begin immediate` succeeds on a read-only file; the first write does not.
    connection.execute('update meta set fence = fence where false');
    connection.execute('commit');
  } catch (error) {
    if (connection.isInTransaction) connection.execute('rollback');
    throw error;
  }
}

/** A file that is older than this table lists only the migrations applied since. */
const APPLIED = `
  create table if not exists migration (
    version              integer primary key,
    name                 text not null,
    older_builds_may_run integer not null
  ) strict`;

/** Synchronous, because a memory store opens without a promise. */
function textOf(file: string): string {
  try {
    return readFileSync(new URL(`./migrations/${file}`, import.meta.url), 'utf8');
  } catch (cause) {
    return bundledAway(cause as NodeJS.ErrnoException);
  }
}

function apply(connection: Connection, at: number): void {
  const file = MIGRATIONS[at] ?? '';
  const sql = textOf(file);
  connection.execute(sql);
  const mayRun = sql.startsWith('-- older builds may run: yes') ? 1 : 0;
  const name = file.replace(/\.sql$/, '');
  connection.execute(`insert into migration values (${at + 1}, '${name}', ${mayRun})`);
}

/** A migration that a newer build applied. */
export interface Newer {
  readonly version: number;
  readonly name: string;
  readonly olderBuildsMayRun: boolean;
}

/**
 * Lists the migrations that this build does not know. One without a record counts as forbidding
 * older builds.
 */
export function newerMigrations(
  version: number,
  rows: (sql: string) => readonly object[],
): readonly Newer[] {
  if (version <= SCHEMA_VERSION) return [];
  const there = rows("select 1 from sqlite_schema where type = 'table' and name = 'migration'");
  const applied = there.length === 0 ? [] : (rows('select * from migration') as AppliedRow[]);
  return Array.from({ length: version - SCHEMA_VERSION }, (_, at) => {
    const nth = SCHEMA_VERSION + at + 1;
    const row = applied.find((each) => each.version === nth);
    const name = row?.name ?? `${String(nth).padStart(4, '0')} (of a newer version)`;
    return { version: nth, name, olderBuildsMayRun: row?.older_builds_may_run === 1 };
  });
}

interface AppliedRow {
  readonly version: number;
  readonly name: string;
  readonly older_builds_may_run: number;
}

function checkedVersion(connection: Connection, file: string): number {
  const id = connection.get<{ application_id: number }>('pragma application_id')?.application_id;
  const version = connection.get<{ user_version: number }>('pragma user_version')?.user_version;
  const tables = connection.get<{ tables: number }>('select count(*) as tables from sqlite_schema');
  if (tables?.tables === 0) return 0;
  if (id !== APPLICATION_ID || version === undefined) {
    throw new InvalidInput(
      `"${file}" is a SQLite database of another program. Nothing was changed. Pass a file of its own for Holdfast.`,
    );
  }
  const newer = newerMigrations(version, (sql) => connection.all<object>(sql));
  if (newer.some(({ olderBuildsMayRun }) => !olderBuildsMayRun)) {
    throw new Fault(
      'store-too-new',
      `A newer version of Holdfast wrote "${file}": its schema is ${version}, and this version knows ${SCHEMA_VERSION}. Nothing was changed. Use the newer version.`,
    );
  }
  return version;
}
