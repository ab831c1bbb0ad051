// The fence in the user's own transaction on MySQL or MariaDB (InnoDB), on the user's own
// connection.
//
// The statement that raises the mark locks its row until the user's commit. It acts on the newest
// version of the row at every isolation level. So a successor's `admit` waits for the transaction
// that passed before it, and a later transaction sees the raised mark.

import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import {
  CURRENT,
  type Fenced,
  type GuardResult,
  isObject,
  needMethod,
  parseFenced,
  parseMark,
  requireCurrent,
  staleAt,
} from './mark.ts';
import { type MarkTableOptions, tableName, withNextStep } from './sql.ts';

export { type Fenced, type GuardResult, type Stale, StaleFence } from './mark.ts';

/**
 * A connection or pool of `mysql2/promise`.
 *
 * @example
 * import { createPool } from 'mysql2/promise';
 *
 * const connection: MysqlConnection = createPool('mysql://localhost/app');
 */
export interface MysqlConnection {
  /** Runs a statement and returns its result first. */
  query(sql: string, values: unknown[]): Promise<readonly [unknown, ...unknown[]]>;
}

/**
 * A connection of `mysql2/promise` with an open transaction. A pool is not one, because each of its
 * queries stands alone.
 */
export interface MysqlTransaction extends MysqlConnection {
  /** Absent; a pool has it. */
  readonly getConnection?: never;
}

/** Options of `MysqlGuard`. */
export type MysqlGuardOptions = MarkTableOptions;

/** The flag of a server's reply while a transaction is open. */
const IN_TRANSACTION = 1;

/**
 * Checks fences in your transactions on MySQL or MariaDB, with one mark per resource in a table of
 * its own. The tables that you write must use InnoDB.
 *
 * Methods throw `InvalidInput` if the connection or the fence is invalid, and `StoreUnavailable` if
 * the table is missing.
 *
 * @example
 * import { createPool } from 'mysql2/promise';
 *
 * const pool = createPool('mysql://localhost/app');
 * const guard = new MysqlGuard();
 * await guard.admit(pool, lease);
 * const connection = await pool.getConnection();
 * await connection.beginTransaction();
 * await guard.require(connection, lease);
 * await connection.query('update invoice set state = ?', ['paid']);
 * await connection.commit();
 * connection.release();
 */
export class MysqlGuard {
  /** The SQL that creates the table. Run it once, in your migrations. */
  readonly createTable: string;
  readonly #table: string;

  constructor(options: MysqlGuardOptions = {}) {
    rejectUnknownOptions('MysqlGuard', options, ['table']);
    this.#table = tableName(options.table ?? 'holdfast_fence');
    // A binary column compares keys byte by byte, as stores do.
    this.createTable = `
create table if not exists ${this.#table} (
  resource varbinary(512) primary key,
  fence    bigint not null
) engine = InnoDB`;
  }

  /**
   * Shuts out every earlier holder. Call it right after the grant, outside a transaction, before
   * the first read or write.
   */
  async admit(connection: MysqlConnection, fenced: Fenced): Promise<GuardResult> {
    checkConnection(connection, 'guard.admit(pool, lease)');
    return (await this.#raise(connection, fenced)).result;
  }

  /**
   * Checks a fence in your transaction, before or after its writes. `current` holds until the
   * transaction ends.
   */
  async check(transaction: MysqlTransaction, fenced: Fenced): Promise<GuardResult> {
    return this.#checked(transaction, fenced, 'guard.check(connection, lease)');
  }

  /** Checks a fence in your transaction. Throws `StaleFence` if it is stale. */
  async require(transaction: MysqlTransaction, fenced: Fenced): Promise<void> {
    requireCurrent(await this.#checked(transaction, fenced, 'guard.require(connection, lease)'));
  }

  /** Without a transaction, the mark is unlocked before the write, and the check proves nothing. */
  async #checked(
    transaction: MysqlTransaction,
    fenced: Fenced,
    call: string,
  ): Promise<GuardResult> {
    checkConnection(transaction, call);
    const isPool = 'getConnection' in transaction;
    const { result, status } = isPool
      ? { result: CURRENT, status: 0 }
      : await this.#raise(transaction, fenced);
    if (!isPool && (status & IN_TRANSACTION) !== 0) return result;
    throw new InvalidInput(
      'The check must run in the transaction of the write; got ' +
        `${isPool ? 'a pool' : 'a connection without one'}. ` +
        'Take a connection, await its beginTransaction(), and pass that connection.',
    );
  }

  async #raise(
    connection: MysqlConnection,
    fenced: Fenced,
  ): Promise<{ readonly result: GuardResult; readonly status: number }> {
    const presented = parseFenced(fenced);
    const { key, fence } = presented;
    const raise = `insert into ${this.#table} (resource, fence) values (?, ?) on duplicate key update fence = greatest(fence, ?)`;
    // A locking read returns the newest version, which a snapshot may not contain.
    const read = `select fence from ${this.#table} where resource = ? for update`;
    try {
      const [header] = await connection.query(raise, [Buffer.from(key), fence, fence]);
      const [rows] = await connection.query(read, [Buffer.from(key)]);
      const mark = parseMark(key, fieldOf(Array.isArray(rows) ? rows[0] : undefined, 'fence'));
      const result = mark > fence ? staleAt(presented, mark) : CURRENT;
      return { result, status: Number(fieldOf(header, 'serverStatus')) };
    } catch (error) {
      throw withNextStep(error, { table: this.#table, owner: 'guard' });
    }
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function checkConnection(connection: MysqlConnection, call: string): void {
  const what = 'The first argument is a pool or a connection of mysql2/promise';
  needMethod(connection, 'query', { what, pass: call });
}
