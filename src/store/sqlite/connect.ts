// How a file becomes a connection that is durable and has our tables.

import { closeSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeSeal } from '../../features/export/model.ts';
import { InvalidInput, StoreSealed, StoreUnavailable } from '../../support/fault.ts';
import { jittered } from '../../support/random.ts';
import { Connection, type Durability, isBusy, toFault } from './connection.ts';
import type { DatabaseConfig } from './database.ts';
import { migrate } from './migrate.ts';
import { readSeal } from './move/seal.ts';

export interface StoreFile {
  readonly file: string;
  readonly durability: Durability;
  /** For moves and seals: a sealed file is opened too. */
  readonly evenSealed?: boolean;
}

const LOCKED_PAUSE_MS = 10;

/** Others may be opening the same new file: each step can find it locked, and is tried again. */
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
      // The skip must survive what it protects against, so it is written before FULL is given up.
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
        const message = `"${file}" was kept locked by another process for ${Math.round(waitedMs)} ms.`;
        throw new StoreUnavailable(message, { cause: error });
      }
    }
    const pauseMs = jittered(config.random, LOCKED_PAUSE_MS, 0.5);
    await config.timers.pause(pauseMs);
    waitedMs += pauseMs;
  }
}

/** A database that only this connection reaches. It needs neither WAL nor a flush: it is gone with the process. */
export function connectMemory(): Connection {
  const connection = new Connection(':memory:');
  migrate(connection, ':memory:');
  return connection;
}

/** A new file is for its owner only, as SQLite then makes the files beside it. What cannot be made, SQLite reports. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600));
  } catch {
    // It is there, or cannot be.
  }
}

/** More than a store that does not wait for the disk can grant before the disk has it. */
const FENCES_SKIPPED = 2 ** 20;

/** T-3: what was granted and then lost with the power must not be granted again. */
function skipFences(connection: Connection, durability: Durability): void {
  if (durability === 'normal') connection.execute('update meta set lossy = 1 where lossy = 0');
  connection.execute(
    `update meta set fence = fence + ${FENCES_SKIPPED} where id = 1 and lossy = 1 and sealed is null`,
  );
}

/** EX-7: whoever would start on it is told at once, not at its first write. */
function refuseSealed(connection: Connection, file: string): void {
  const seal = readSeal(connection);
  if (seal !== undefined) throw new StoreSealed(`"${file}": ${describeSeal(seal)}`);
}

/** SQLite says "unable to open database file" to all of these. */
async function checkPlace(file: string): Promise<void> {
  const isFolder = async (path: string): Promise<boolean> =>
    stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
  if (await isFolder(file)) {
    throw new InvalidInput(`"${file}" is a folder. Name a file in it.`);
  }
  if (!file.startsWith('file:') && !(await isFolder(dirname(file)))) {
    throw new InvalidInput(`The folder of "${file}" does not exist. Make it first.`);
  }
}
