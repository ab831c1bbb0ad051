// Inspects a file without opening it as a store. It only reads.

import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import type { StoreFact, StoreReport } from '../contract/store-report.ts';
import { type EpochRise, epochFact, sealFacts } from '../inspect-facts.ts';
import { toFault } from './connection.ts';
import { APPLICATION_ID, MIGRATIONS, newerMigrations } from './migrate.ts';

const BUSY_MS = 5_000;

export async function inspectSqliteStore(file: string): Promise<StoreReport> {
  const facts = [await folderFact(file)];
  const known = MIGRATIONS.map((name) => name.replace(/\.sql$/, ''));
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  const nothing = { exists: false, applied: [], forbidding: [], clockAheadMs: 0 };
  if (size === 0) return { kind: 'sqlite', ...nothing, known, facts };
  return { kind: 'sqlite', known, ...read(file, { known, facts }) };
}

interface Reading {
  readonly known: readonly string[];
  readonly facts: readonly StoreFact[];
}

function read(file: string, { known, facts }: Reading): Omit<StoreReport, 'kind' | 'known'> {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
    const one = (sql: string): unknown => Object.values(database?.prepare(sql).get() ?? {})[0];
    if (one('pragma application_id') !== APPLICATION_ID) {
      throw new InvalidInput(
        `"${file}" is a SQLite database of another program. Pass a file of its own for Holdfast.`,
      );
    }
    const version = Number(one('pragma user_version'));
    const newer = newerMigrations(version, (sql) => database?.prepare(sql).all() ?? []);
    const applied = [...known.slice(0, version), ...newer.map(({ name }) => name)];
    const clockAt = Number(one('select clock_at from meta where id = 1'));
    const ahead = clockAt === 0 ? 0 : Math.max(0, clockAt - systemClock.wallMs());
    const isLossy = one('select lossy from meta where id = 1') === 1;
    const seal = version >= SEALS_FROM ? one('select sealed from meta where id = 1') : null;
    const rise = database.prepare(RISE).get() as EpochRise | undefined;
    const epoch = epochFact(Number(one('select fence from meta where id = 1')), rise);
    const mode = journalFact(String(one('pragma journal_mode')));
    return {
      exists: true,
      applied,
      forbidding: newer.flatMap(({ name, olderBuildsMayRun }) => (olderBuildsMayRun ? [] : [name])),
      clockAheadMs: ahead,
      facts: [...facts, mode, ...(isLossy ? [LOSSY] : []), epoch, ...sealFacts(seal)],
    };
  } catch (error) {
    throw toFault(error);
  } finally {
    database?.close();
  }
}

const RISE = "select at, detail from event where kind = 'epoch-raised' order by seq desc limit 1";

const SEALS_FROM = MIGRATIONS.indexOf('0005-seal.sql') + 1;

const LOSSY: StoreFact = {
  name: 'synchronous',
  found: 'was opened with durability "normal" once: a power cut can lose the last writes',
};

function journalFact(mode: string): StoreFact {
  const found = { name: 'journal_mode', found: mode };
  return mode === 'wal'
    ? found
    : { ...found, change: 'Keep the file on a local disk: WAL needs shared memory.' };
}

async function folderFact(file: string): Promise<StoreFact> {
  const folder = dirname(file);
  const isWritable = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  return isWritable
    ? { name: 'folder', found: `${folder} can be written` }
    : {
        name: 'folder',
        found: `${folder} does not exist, or is not writable`,
        change: `Create it (mkdir -p ${folder}), or let this user write in it.`,
      };
}
