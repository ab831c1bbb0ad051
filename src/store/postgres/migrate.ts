// Applies numbered SQL files once, in order, under a lock that ends with its transaction, so ten
// processes may start at once. Never edit a released file: the store keeps its checksum. The first
// line of a file states if older builds may still run.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Pool, PoolClient } from 'pg';
import { Fault } from '../../support/fault.ts';
import { bundledAway } from '../bundled-away.ts';
import { type Database, quoteIdentifier, stateOf, toFault } from './database.ts';

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  readonly olderBuildsMayRun: boolean;
}

const FOLDER = new URL('./migrations/', import.meta.url);

export function knownMigrations(): readonly Migration[] {
  return sqlFiles()
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name) => {
      const text = readFileSync(new URL(name, FOLDER), 'utf8');
      return {
        name: name.replace(/\.sql$/, ''),
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
        olderBuildsMayRun: text.startsWith('-- older builds may run: yes'),
      };
    });
}

function sqlFiles(): readonly string[] {
  try {
    return readdirSync(FOLDER);
  } catch (cause) {
    return bundledAway(cause as NodeJS.ErrnoException);
  }
}

interface AppliedRow {
  readonly name: string;
  readonly checksum: string;
  readonly older_builds_may_run: boolean;
}

const IDLE_MS_MAX = 60_000;

/** PostgreSQL chose this transaction to end a deadlock, and has undone all of it. */
const DEADLOCK = '40P01';
const TRIES_MAX = 5;

interface Target {
  readonly schema: string;
  readonly migrations: readonly Migration[];
}

/** Migrations lock tables that live workers use, so a deadlock is possible. Then they run again. */
export async function migrate(pool: Pool, database: Database, target: Target): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const client = await pool.connect().catch((cause: unknown) => {
      throw toFault(cause);
    });
    try {
      await migrateOnce(client, database, target);
      return client.release();
    } catch (cause) {
      client.release(true);
      const fault = toFault(cause);
      if (stateOf(fault) !== DEADLOCK || tries === TRIES_MAX) throw fault;
    }
  }
}

async function migrateOnce(client: PoolClient, database: Database, target: Target): Promise<void> {
  if (await isCurrent(client, target)) return;
  await client.query('begin');
  // A migration runs once per version, and no work waits for it. So its transaction may stay idle
  // for longer than those of workers.
  await client.query(`set local idle_in_transaction_session_timeout = ${IDLE_MS_MAX}`);
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `holdfast:${target.schema}`,
  ]);
  await applyMissing(client, database, target);
  await client.query('commit');
}

/**
 * Most starts find the schema current. They need no lock, no write and no right to create anything.
 */
async function isCurrent(client: PoolClient, target: Target): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(
    'select to_regclass($1) is not null as there',
    [`${quoteIdentifier(target.schema)}.migration`],
  );
  if (rows[0]?.there !== true) return false;
  const applied = await readApplied(client, target.schema);
  refuseUnknown(applied, target);
  return target.migrations.every(({ name }) => applied.some((row) => row.name === name));
}

async function applyMissing(client: PoolClient, database: Database, target: Target): Promise<void> {
  const schema = quoteIdentifier(target.schema);
  // `if not exists` would need the right to create schemas even if the schema exists.
  const { rows } = await client.query<{ missing: boolean }>(
    'select to_regnamespace($1) is null as missing',
    [schema],
  );
  if (rows[0]?.missing === true) await client.query(`create schema ${schema}`);
  await client.query(`
    create table if not exists ${schema}.migration (
      name                 text primary key,
      checksum             text not null,
      older_builds_may_run boolean not null,
      applied_at           timestamptz not null default now()
    )`);
  const applied = await readApplied(client, target.schema);
  refuseUnknown(applied, target);
  for (const migration of target.migrations) {
    if (applied.some((row) => row.name === migration.name)) continue;
    await client.query(database.fill(migration.text));
    await client.query(
      `insert into ${schema}.migration (name, checksum, older_builds_may_run) values ($1, $2, $3)`,
      [migration.name, migration.checksum, migration.olderBuildsMayRun],
    );
  }
}

async function readApplied(client: PoolClient, schema: string): Promise<readonly AppliedRow[]> {
  const { rows } = await client.query<AppliedRow>(
    `select m.name, m.checksum, m.older_builds_may_run from ${quoteIdentifier(schema)}.migration m`,
  );
  return rows;
}

function refuseUnknown(applied: readonly AppliedRow[], target: Target): void {
  for (const row of applied) {
    const known = target.migrations.find(({ name }) => name === row.name);
    if (known === undefined && !row.older_builds_may_run) {
      throw new Fault(
        'schema-too-new',
        `A newer version migrated schema "${target.schema}" (${row.name}), and older versions must not run on it. Nothing was changed. Upgrade this process.`,
      );
    }
    if (known !== undefined && known.checksum !== row.checksum) {
      throw new Fault(
        'schema-differs',
        `Migration ${row.name} of schema "${target.schema}" has other content than in this version. Nothing was changed. Use the version that created the schema, or another schema.`,
      );
    }
  }
}
