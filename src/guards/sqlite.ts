// The fence in the user's own SQLite transaction, on the user's own connection.
//
// SQLite lets one transaction write at a time. The statement that checks is a write. So until the
// user's commit, no other transaction writes the file, marks included. A transaction that began
// with a read and has an outdated snapshot fails with SQLITE_BUSY instead: roll back and begin
// again.

import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { InvalidInput } from '../support/fault.ts';
import {
  CURRENT,
  type Fenced,
  type GuardResult,
  needMethod,
  parseFenced,
  requireCurrent,
  staleAt,
} from './mark.ts';
import {
  checkChange,
  type MarkStatements,
  type MarkTableOptions,
  markStatements,
  parseRowOptions,
  QUESTION,
  type RowChange,
  type RowGuardConfig,
  type RowGuardOptions,
  type RowResult,
  rowMark,
  rowUpdate,
  unchanged,
  type Where,
  withNextStep,
} from './sql.ts';

export { type Fenced, type GuardResult, type Stale, StaleFence } from './mark.ts';
export type { RowChange, RowGuardOptions, RowResult, Where } from './sql.ts';

/** Options of `SqliteGuard`. */
export type SqliteGuardOptions = MarkTableOptions;

/**
 * Checks fences in your SQLite transactions, with one mark per resource in a table of its own.
 *
 * Methods throw `InvalidInput` if the database or the fence is invalid, and `StoreUnavailable` if
 * the table is missing.
 *
 * @example
 * import { DatabaseSync } from 'node:sqlite';
 *
 * const database = new DatabaseSync('./app.db');
 * const guard = new SqliteGuard();
 * database.exec(guard.createTable);
 * guard.admit(database, lease);
 * database.exec('begin immediate');
 * guard.require(database, lease);
 * database.exec("update invoice set state = 'paid'");
 * database.exec('commit');
 */
export class SqliteGuard {
  /** The SQL that creates the table. Run it once, in your migrations. */
  readonly createTable: string;
  readonly #sql: MarkStatements;

  constructor(options: SqliteGuardOptions = {}) {
    this.#sql = markStatements('SqliteGuard', options, QUESTION);
    this.createTable = this.#sql.createTable;
  }

  /**
   * Shuts out every earlier holder. Call it right after the grant, outside a transaction, before
   * the first read or write.
   */
  admit(database: DatabaseSync, fenced: Fenced): GuardResult {
    checkDatabase(database, 'guard.admit(database, lease)');
    return this.#raise(database, fenced);
  }

  /**
   * Checks a fence in your transaction, before or after its writes. `current` holds until the
   * transaction ends.
   */
  check(database: DatabaseSync, fenced: Fenced): GuardResult {
    assertTransaction(database, 'guard.check(database, lease)');
    return this.#raise(database, fenced);
  }

  /** Checks a fence in your transaction. Throws `StaleFence` if it is stale. */
  require(database: DatabaseSync, fenced: Fenced): void {
    assertTransaction(database, 'guard.require(database, lease)');
    requireCurrent(this.#raise(database, fenced));
  }

  #raise(database: DatabaseSync, fenced: Fenced): GuardResult {
    const presented = parseFenced(fenced);
    const { key, fence } = presented;
    const { raise, read, table } = this.#sql;
    try {
      if (database.prepare(raise).get(key, fence) !== undefined) return CURRENT;
      return staleAt(presented, database.prepare(read).get(key)?.['fence']);
    } catch (error) {
      throw withNextStep(error, { table, owner: 'guard' });
    }
  }
}

/** `call` is the correct call, such as `guard.admit(database, lease)`. */
function checkDatabase(database: DatabaseSync, call: string): void {
  const what = 'The first argument is a DatabaseSync of node:sqlite';
  needMethod(database, 'prepare', { what, pass: call });
}

function assertTransaction(database: DatabaseSync, call: string): void {
  checkDatabase(database, call);
  if (database.isTransaction) return;
  throw new InvalidInput(
    'The check must run in the transaction of the write, and none is open. ' +
      "Call exec('begin immediate') first.",
  );
}

/**
 * Checks fences in a column of your own rows: one statement, no second table.
 *
 * @example
 * import { DatabaseSync } from 'node:sqlite';
 *
 * const database = new DatabaseSync('./app.db');
 * const guard = new SqliteRowGuard({ table: 'invoice' });
 * guard.admit(database, lease, { id: 7 });
 * guard.update(database, lease, { set: { state: 'paid' }, where: { id: 7 } });
 */
export class SqliteRowGuard {
  readonly #config: RowGuardConfig;

  constructor(options: RowGuardOptions) {
    this.#config = parseRowOptions('SqliteRowGuard', options);
  }

  /** Shuts out every earlier holder of these rows. Call it right after the grant. */
  admit(database: DatabaseSync, fenced: Fenced, where: Where<SQLInputValue>): RowResult {
    checkDatabase(database, 'guard.admit(database, lease, { id })');
    return this.#write(database, fenced, { set: {}, where });
  }

  /**
   * Changes rows, alone or in a transaction. Rows that a later holder has marked stay as they are.
   */
  update(database: DatabaseSync, fenced: Fenced, change: RowChange<SQLInputValue>): RowResult {
    checkDatabase(database, 'guard.update(database, lease, { set, where })');
    checkChange('SqliteRowGuard.update', change);
    return this.#write(database, fenced, change);
  }

  #write(database: DatabaseSync, fenced: Fenced, change: RowChange<SQLInputValue>): RowResult {
    const presented = parseFenced(fenced);
    const { text, values } = rowUpdate<SQLInputValue>(this.#config, QUESTION, {
      ...change,
      fence: presented.fence,
    });
    const rows = Number(database.prepare(text).run(...values).changes);
    if (rows > 0) return { kind: 'written', rows };
    const read = rowMark(this.#config, QUESTION, change.where);
    const mark = database.prepare(read.text).get(...read.values)?.['fence'] ?? null;
    return unchanged(presented, mark);
  }
}
