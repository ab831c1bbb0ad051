// Opens a file for export or import, sealed or not.

import type { ExportPort, SealStore } from '../../../features/export/port.ts';
import { resolvePolicy } from '../../../lease/policy.ts';
import { systemClock } from '../../../support/clock.ts';
import { Fault, StoreUnavailable } from '../../../support/fault.ts';
import { systemRandom } from '../../../support/random.ts';
import { systemTimers } from '../../../support/timer.ts';
import { readSeal } from '../../sql/seal.ts';
import { connect } from '../connect.ts';
import { CONSTRAINT, Connection, resultCode, toFault } from '../connection.ts';
import { Database } from '../database.ts';
import { play } from '../gateway.ts';
import { MIGRATIONS } from '../migrate.ts';
import { dump, load } from './rows.ts';
import { seal, unseal } from './seal.ts';

const BUSY_MS = 10_000;

export async function openSqliteForExport(file: string): Promise<ExportPort> {
  const environment = { clock: systemClock, timers: systemTimers, random: systemRandom };
  const config = { ...environment, policy: resolvePolicy(undefined), busyTimeoutMs: BUSY_MS };
  // Use `full` however the file was opened before: a seal must survive a crash.
  const connected = await connect({ file, durability: 'full', evenSealed: true }, config);
  const database = new Database(connected, config);
  return {
    kind: 'sqlite',
    schema: MIGRATIONS.map((name) => name.replace(/\.sql$/, '')),
    seals: sealsOf(database),
    now: () => database.read(({ now }) => now),
    dump: (visit) => alone(file, (connection) => dump(connection, visit)),
    load: (request) => alone(file, (connection) => load(connection, systemClock, request)),
    close: () => database.close(),
  };
}

/** Uses its own connection, which may block, because this process has nothing else to do. */
async function alone<Result>(
  file: string,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = new Connection(file);
  try {
    connection.configure('full');
    connection.execute(`pragma busy_timeout = ${BUSY_MS}`);
    return await work(connection);
  } catch (error) {
    throw rejected(toFault(error));
  } finally {
    connection.close();
  }
}

/** Rows that do not fit the tables are not a fault of the file. */
function rejected(fault: unknown): unknown {
  if (!(fault instanceof StoreUnavailable) || resultCode(fault.cause) !== CONSTRAINT) return fault;
  return new Fault('store-rejected', fault.message, { cause: fault.cause });
}

export function sealsOf(database: Database): SealStore {
  return {
    seal: (request) => database.operate((tx) => seal(tx, request)),
    unseal: (request) => database.operate((tx) => unseal(tx, request)),
    read: () => database.read((tx) => play(tx, readSeal())),
  };
}
