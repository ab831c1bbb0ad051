// What the guards need of a PostgreSQL driver. `pg` has it; nothing is imported from it.

import { InvalidInput } from '../support/fault.ts';
import { isObject, needMethod, refuse } from './arguments.ts';

/** A client or a pool of `pg`, or anything that answers alike. */
export interface PostgresConnection {
  query(
    text: string,
    values: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}

/** A connection with a transaction open on it. A pool is none: each query of it stands alone. */
export interface PostgresTransaction extends PostgresConnection {
  readonly totalCount?: never;
}

export interface PostgresPool extends PostgresConnection {
  connect(): Promise<PostgresPoolClient>;
}

export interface PostgresPoolClient extends PostgresConnection {
  release(destroy?: boolean): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** `call` is how it should read: `guard.admit(pool, lease)`. */
export function checkConnection(connection: PostgresConnection, call: string): void {
  const what = 'The first argument is a pool or a client of pg';
  needMethod(connection, 'query', { what, pass: call });
}

/** A client can connect too, but only once. */
export function checkPool(what: string, pool: PostgresPool): void {
  const need = {
    what: `${what} takes a connection for each request, and so a pool of pg`,
    pass: `${what}(pool), with a pool from new pg.Pool(…)`,
  };
  needMethod(pool, 'connect', need);
  if (isObject(pool) && 'escapeIdentifier' in pool) refuse(pool, need);
}

/** Without one, the mark is free again before the write is made, and the check says nothing. */
export function assertTransaction(connection: PostgresConnection, call: string): void {
  checkConnection(connection, call);
  const isPool = 'totalCount' in connection;
  const isIdle =
    'getTransactionStatus' in connection &&
    typeof connection.getTransactionStatus === 'function' &&
    connection.getTransactionStatus() === 'I';
  if (!isPool && !isIdle) return;
  throw new InvalidInput(
    'A check is worth something only in the transaction of the write; got ' +
      `${isPool ? 'a pool' : 'a connection without one'}. ` +
      "Take a client, await its query('begin'), and pass that client.",
  );
}

/** The `fence` of the first row; null without one. */
export function fenceIn([row]: readonly unknown[]): unknown {
  return typeof row === 'object' && row !== null && 'fence' in row ? row.fence : null;
}
