// Opens a file as a durable connection that has Holdfast's tables.

import { closeSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeSeal } from '../../features/export/model.ts';
import { InvalidInput, StoreSealed, StoreUnavailable } from '../../support/fault.ts';
import { jittered } from '../../support/random.ts';
import { Connection, type Durability, isBusy, toFault } from './connection.ts';
import type { DatabaseConfig } from './database.ts';
import { readSeal } from './export/seal.ts';
import { migrate } from './migrate.ts';

export interface StoreFile {
  readonly file: string;
  readonly durability: Durability;
  /** Opens a sealed file too, for export, import and seals. */
  readonly evenSealed?: boolean;
}

const LOCKED_PAUSE_MS = 10;

/**
 * Other processes may be opening the same new file. Each step can find it locked and then runs
 * again.
 */
export async function connect(
  { file, durability, evenSealed = false }: StoreFile,
  config: DatabaseConfig,
): Promise<Connection> {
  await checkPlace(file);
  makePrivate(file);
  for (let waitedMs = 0; ; ) {
    let connection: Connection | undefined;
    try {
      connection = new Connection(file);
      // Write the skipped fences under FULL: they must survive the crash that they protect against.
      connection.configure('full');
      migrate(connection, file);
      if (!evenSealed) refuseSealed(connection, file);
      skipFences(connection, durability);
      connection.configure(durability);
      return connection;
    } catch (error) {
      connection?.close();
      if (!isBusy(error)) throw toFault(error);
      if (waitedMs >= config.busyTimeoutMs) {
        const message = `Another process kept "${file}" locked for ${Math.round(waitedMs)} ms. Nothing was opened. Try again.`;
        throw new StoreUnavailable(message, { cause: error });
      }
    }
    const pauseMs = jittered(config.random, LOCKED_PAUSE_MS, 0.5);
    await config.timers.pause(pauseMs);
    waitedMs += pauseMs;
  }
}

/**
 * Opens a database that only this connection can reach. It needs neither WAL nor a sync, because it
 * ends with the process.
 */
export function connectMemory(): Connection {
  const connection = new Connection(':memory:');
  if (emptyImage === undefined || !connection.load(emptyImage)) {
    migrate(connection, ':memory:');
    emptyImage = connection.image();
  }
  return connection;
}

/** A new database after all migrations. A test opens hundreds of them, and loading is much faster. */
let emptyImage: Uint8Array | undefined;

/**
 * Creates the file for its owner only; SQLite then creates the files beside it with the same mode.
 * If this fails, SQLite reports the error later.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600));
  } catch {
    // The file exists already, or cannot be created.
  }
}

/** More fences than a store with `normal` durability can grant before the disk has them. */
const FENCES_SKIPPED = 2 ** 20;

/** A grant that was lost in a power cut must not be issued again (T-3). */
function skipFences(connection: Connection, durability: Durability): void {
  if (durability === 'normal') connection.execute('update meta set lossy = 1 where lossy = 0');
  connection.execute(
    `update meta set fence = fence + ${FENCES_SKIPPED} where id = 1 and lossy = 1 and sealed is null`,
  );
}

/** Refuses a sealed store when it is opened, not at its first write (EX-7). */
function refuseSealed(connection: Connection, file: string): void {
  const seal = readSeal(connection);
  if (seal !== undefined) throw new StoreSealed(`"${file}": ${describeSeal(seal)}`);
}

/** SQLite reports "unable to open database file" for all of these cases. */
async function checkPlace(file: string): Promise<void> {
  const isFolder = async (path: string): Promise<boolean> =>
    stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
  if (await isFolder(file)) {
    throw new InvalidInput(`"${file}" is a folder. Nothing was opened. Pass a file in it.`);
  }
  if (!file.startsWith('file:') && !(await isFolder(dirname(file)))) {
    throw new InvalidInput(
      `The folder of "${file}" does not exist. Nothing was opened. Create it first.`,
    );
  }
}
