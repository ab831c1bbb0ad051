// Opens a schema for export or import, sealed or not.

import type { ExportPort, SealStore } from '../../../features/export/port.ts';
import { resolvePolicy } from '../../../lease/policy.ts';
import type { Instant } from '../../../support/clock.ts';
import { rejectUnknownOptions } from '../../../support/options.ts';
import { adopt } from '../adopt-server.ts';
import { SYSTEM, withRetries } from '../committer.ts';
import { describeDurability, loadDriver, poolOf, settingsOf } from '../connect.ts';
import { Database, STORE_NOW_SQL, statement } from '../database.ts';
import { knownMigrations, migrate } from '../migrate.ts';
import { OPTION_NAMES, type PostgresStoreOptions, schemaOf } from '../store-options.ts';
import { dump, load } from './rows.ts';
import { readSeal, seal, unseal } from './seal.ts';

const NOW = statement('select hf_now() as now');

export async function openPostgresForExport(options: PostgresStoreOptions): Promise<ExportPort> {
  rejectUnknownOptions('openPostgresForExport', options, OPTION_NAMES);
  const schema = schemaOf(options);
  const pg = await loadDriver();
  const pool = poolOf(options, pg);
  const nowSql = options.nowSql ?? STORE_NOW_SQL;
  // Inserts differ by their number of rows, so preparing them would only fill the server's memory.
  const settings = settingsOf(options);
  const database = new Database(pool, { schema, nowSql, prepare: false, settings });
  try {
    const migrations = knownMigrations();
    await migrate(pool, database, { schema, migrations });
    const isOpen = (await readSeal(database)) === undefined;
    const policy = resolvePolicy(options.policy);
    if (isOpen) await database.transaction((queries) => adopt(queries, policy));
    await describeDurability(database);
    return {
      kind: 'postgres',
      schema: migrations.map(({ name }) => name),
      seals: sealsOf(database),
      now: async () => (await database.rows<{ now: Instant }>(NOW, []))[0]?.now ?? (0 as Instant),
      dump: (visit) => dump({ database, schema }, visit),
      load: (request) => load({ database, schema }, request),
      close: () => pool.end(),
    };
  } catch (fault) {
    await pool.end();
    throw fault;
  }
}

/**
 * Repeats for a while, because under load the locks of all tables are seldom free at once.
 * Repeating is safe.
 */
export function sealsOf(database: Database): SealStore {
  return {
    seal: (request) =>
      withRetries(SYSTEM, () => database.transaction((queries) => seal(queries, request))),
    unseal: (request) =>
      withRetries(SYSTEM, () => database.transaction((queries) => unseal(queries, request))),
    read: () => readSeal(database),
  };
}
