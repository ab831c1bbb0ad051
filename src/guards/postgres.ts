// The fence in the user's own PostgreSQL transaction, on the user's own connection.
//
// Safe at every isolation level. The statement that checks also locks the mark (or the user's row)
// until the user's commit. So a successor's `admit` waits for the transaction that passed before
// it, and a later transaction sees the raised mark. READ COMMITTED reads a row again after waiting
// for it. REPEATABLE READ and SERIALIZABLE fail with 40001 instead, and the retry is refused.

import {
  CURRENT,
  type Fenced,
  type GuardResult,
  parseFenced,
  requireCurrent,
  staleAt,
} from './mark.ts';
import {
  assertTransaction,
  checkConnection,
  fenceIn,
  type PostgresConnection,
  type PostgresTransaction,
} from './postgres-connection.ts';
import {
  checkChange,
  DOLLAR,
  type MarkStatements,
  type MarkTableOptions,
  markStatements,
  parseRowOptions,
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
export { PermitLost } from './marks.ts';
export type {
  PostgresConnection,
  PostgresPool,
  PostgresPoolClient,
  PostgresTransaction,
} from './postgres-connection.ts';
export { type PostgresMarks, type PostgresMarksOptions, postgresMarks } from './postgres-marks.ts';
export type { RowChange, RowGuardOptions, RowResult, Where } from './sql.ts';

/** Options of `PostgresGuard`. */
export type PostgresGuardOptions = MarkTableOptions;

/**
 * Checks fences in your PostgreSQL transactions, with one mark per resource in a table of its own.
 *
 * Methods throw `InvalidInput` if the connection or the fence is invalid, and `StoreUnavailable` if
 * the table is missing.
 *
 * @example
 * import { Pool } from 'pg';
 *
 * const pool = new Pool({ connectionString: 'postgres://localhost/app' });
 * const guard = new PostgresGuard();
 * await guard.admit(pool, lease);
 * const client = await pool.connect();
 * await client.query('begin');
 * await guard.require(client, lease);
 * await client.query('update invoice set state = $1', ['paid']);
 * await client.query('commit');
 * client.release();
 */
export class PostgresGuard {
  /** The SQL that creates the table. Run it once, in your migrations. */
  readonly createTable: string;
  readonly #sql: MarkStatements;

  constructor(options: PostgresGuardOptions = {}) {
    this.#sql = markStatements('PostgresGuard', options, DOLLAR);
    this.createTable = this.#sql.createTable;
  }

  /**
   * Shuts out every earlier holder. Call it right after the grant, outside a transaction, before
   * the first read or write.
   */
  async admit(connection: PostgresConnection, fenced: Fenced): Promise<GuardResult> {
    checkConnection(connection, 'guard.admit(pool, lease)');
    return await this.#raise(connection, fenced);
  }

  /**
   * Checks a fence in your transaction, before or after its writes. `current` holds until the
   * transaction ends.
   */
  async check(transaction: PostgresTransaction, fenced: Fenced): Promise<GuardResult> {
    assertTransaction(transaction, 'guard.check(client, lease)');
    return await this.#raise(transaction, fenced);
  }

  /** Checks a fence in your transaction. Throws `StaleFence` if it is stale. */
  async require(transaction: PostgresTransaction, fenced: Fenced): Promise<void> {
    assertTransaction(transaction, 'guard.require(client, lease)');
    requireCurrent(await this.#raise(transaction, fenced));
  }

  async #raise(connection: PostgresConnection, fenced: Fenced): Promise<GuardResult> {
    const presented = parseFenced(fenced);
    const { key, fence } = presented;
    const { raise, read, table } = this.#sql;
    try {
      const raised = await connection.query(raise, [key, fence]);
      if (raised.rows.length > 0) return CURRENT;
      // A separate statement sees the row that the first one waited for, which its snapshot may not
      // contain.
      return staleAt(presented, fenceIn((await connection.query(read, [key])).rows));
    } catch (error) {
      throw withNextStep(error, { table, owner: 'guard' });
    }
  }
}

/**
 * Checks fences in a column of your own rows: one statement, no second table.
 *
 * @example
 * import { Pool } from 'pg';
 *
 * const pool = new Pool({ connectionString: 'postgres://localhost/app' });
 * const guard = new PostgresRowGuard({ table: 'invoice' });
 * await guard.admit(pool, lease, { id: 7 });
 * await guard.update(pool, lease, { set: { state: 'paid' }, where: { id: 7 } });
 */
export class PostgresRowGuard {
  readonly #config: RowGuardConfig;

  constructor(options: RowGuardOptions) {
    this.#config = parseRowOptions('PostgresRowGuard', options);
  }

  /** Shuts out every earlier holder of these rows. Call it right after the grant. */
  async admit(
    connection: PostgresConnection,
    fenced: Fenced,
    where: Where<unknown>,
  ): Promise<RowResult> {
    checkConnection(connection, 'guard.admit(pool, lease, { id })');
    return await this.#write(connection, fenced, { set: {}, where });
  }

  /**
   * Changes rows, alone or in a transaction. Rows that a later holder has marked stay as they are.
   */
  async update(
    connection: PostgresConnection,
    fenced: Fenced,
    change: RowChange<unknown>,
  ): Promise<RowResult> {
    checkConnection(connection, 'guard.update(pool, lease, { set, where })');
    checkChange('PostgresRowGuard.update', change);
    return await this.#write(connection, fenced, change);
  }

  async #write(
    connection: PostgresConnection,
    fenced: Fenced,
    change: RowChange<unknown>,
  ): Promise<RowResult> {
    const presented = parseFenced(fenced);
    const { fence } = presented;
    const { text, values } = rowUpdate<unknown>(this.#config, DOLLAR, { ...change, fence });
    const { rowCount } = await connection.query(text, values);
    if (rowCount !== null && rowCount > 0) return { kind: 'written', rows: rowCount };
    const read = rowMark(this.#config, DOLLAR, change.where);
    return unchanged(presented, fenceIn((await connection.query(read.text, read.values)).rows));
  }
}
