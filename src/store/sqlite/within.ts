// Joins the transaction of a caller that has its own connection to the same file (X-59, ADR 0071).

import { DatabaseSync } from 'node:sqlite';
import { InvalidInput, StoreUnavailable } from '../../support/fault.ts';
import { backgroundTimers } from '../../support/timer.ts';
import type { TransactionClient } from '../contract/execution-store.ts';
import type { After, Gateway, Script } from '../sql/script.ts';
import { Connection, isBusy, toFault } from './connection.ts';
import { type Database, joinTransaction } from './database.ts';
import { play } from './gateway.ts';
import { StoreClock } from './store-clock.ts';

/** A connection of a caller. Its clock is its own, because a rollback takes the stored time back. */
interface Joined {
  readonly connection: Connection;
  readonly clock: StoreClock;
  isWatched: boolean;
}

export function joiner(database: Database): (client: TransactionClient) => Gateway {
  const known = new WeakMap<TransactionClient, Joined>();
  return (client) => {
    let to = known.get(client);
    if (to === undefined) {
      const connection = connectionOf(database, client);
      to = { connection, clock: new StoreClock(database.clock), isWatched: false };
      known.set(client, to);
    }
    requireTransaction(to.connection);
    return gatewayOn(database, to);
  };
}

function gatewayOn(database: Database, to: Joined): Gateway {
  const perform = async <Result>(
    script: () => Script<Result>,
    { keeps = () => true, notifies }: After<Result> = {},
  ): Promise<Result> => {
    const { connection } = to;
    requireTransaction(connection);
    connection.run('savepoint holdfast');
    try {
      const tx = joinTransaction(connection, { policy: database.policy, clock: to.clock });
      const result = play(tx, script());
      if (keeps(result)) connection.run('release holdfast');
      else connection.undo('holdfast');
      if (notifies?.(result) === true) void wakeAfter(database, to);
      return result;
    } catch (cause) {
      connection.undo('holdfast');
      throw isBusy(cause) ? lockedFault(cause) : toFault(cause);
    }
  };
  return { read: perform, write: perform, repeat: perform };
}

const ENDED_PAUSE_MS_MAX = 50;

/** SQLite reports no commit. After a rollback, workers look once for nothing. */
async function wakeAfter(database: Database, to: Joined): Promise<void> {
  if (to.isWatched) return;
  to.isWatched = true;
  for (let ms = 1; isOpen(to.connection); ms = Math.min(2 * ms, ENDED_PAUSE_MS_MAX)) {
    await backgroundTimers.pause(ms);
  }
  to.isWatched = false;
  database.wake();
}

function isOpen(connection: Connection): boolean {
  try {
    return connection.isInTransaction;
  } catch {
    // The caller has closed it.
    return false;
  }
}

function connectionOf(database: Database, client: TransactionClient): Connection {
  const { file } = database;
  if (file === '') {
    throw refused('a store in memory has no other connections', 'Use a store in a file');
  }
  // Another copy of SQLite in this process would break the locks of this one.
  if (!(client instanceof DatabaseSync)) {
    throw refused('it is not a DatabaseSync of node:sqlite', 'Open the file with node:sqlite');
  }
  if (!client.isOpen) throw refused('it is closed', 'Open it');
  const connection = new Connection(client);
  if (connection.file === file) return connection;
  throw refused(
    `it is connected to "${connection.file}", and the store is "${file}"`,
    "Open the store's file as its main database",
  );
}

function requireTransaction(connection: Connection): void {
  if (!isOpen(connection)) {
    throw refused('it has no open transaction', 'Run "begin immediate" on it first');
  }
}

function refused(problem: string, fix: string): InvalidInput {
  return new InvalidInput(`client cannot be joined: ${problem}. Nothing was written. ${fix}.`);
}

function lockedFault(cause: unknown): StoreUnavailable {
  return new StoreUnavailable(
    'Another connection writes to the SQLite file, or has written since your transaction began. Nothing was written. Roll back, and start it again with "begin immediate".',
    { cause },
  );
}
