// The part of a PostgreSQL driver that the guards need. `pg` has it; nothing is imported from it.

import { InvalidInput, StoreUnavailable } from '../support/fault.ts';
import type { Timers } from '../support/timer.ts';
import { isObject, needMethod, refuse } from './mark.ts';
import { type Entered, PermitLost } from './marks.ts';

/**
 * A client or pool of `pg`.
 *
 * @example
 * import { Pool } from 'pg';
 *
 * const connection: PostgresConnection = new Pool({ connectionString: 'postgres://localhost/app' });
 */
export interface PostgresConnection {
  /** Runs a statement and returns its `rows` and `rowCount`. */
  query(
    text: string,
    values: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}

/**
 * A client of `pg` with an open transaction. A pool is not one, because each of its queries stands
 * alone.
 */
export interface PostgresTransaction extends PostgresConnection {
  /** Absent; a pool has it. */
  readonly totalCount?: never;
}

/**
 * A pool of `pg`.
 *
 * @example
 * import { Pool } from 'pg';
 *
 * const connections: PostgresPool = new Pool({ connectionString: 'postgres://localhost/app' });
 */
export interface PostgresPool extends PostgresConnection {
  /** Takes a client from the pool. */
  connect(): Promise<PostgresPoolClient>;
}

/**
 * A client of a pool of `pg`.
 *
 * @example
 * import { Pool } from 'pg';
 *
 * const client: PostgresPoolClient = await new Pool().connect();
 * client.release();
 */
export interface PostgresPoolClient extends PostgresConnection {
  /** Returns the client to the pool, or closes it. */
  release(destroy?: boolean): void;
  /** Adds a listener for errors. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Removes a listener. */
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** `call` is the correct call, such as `guard.admit(pool, lease)`. */
export function checkConnection(connection: PostgresConnection, call: string): void {
  const what = 'The first argument is a pool or a client of pg';
  needMethod(connection, 'query', { what, pass: call });
}

/** A client also has `connect`, but can connect only once. */
export function checkPool(what: string, pool: PostgresPool): void {
  const need = {
    what: `${what} takes a connection for each request, and so a pool of pg`,
    pass: `${what}(pool), with a pool from new pg.Pool(…)`,
  };
  needMethod(pool, 'connect', need);
  if (isObject(pool) && 'escapeIdentifier' in pool) refuse(pool, need);
}

/** Without a transaction, the mark is unlocked before the write, and the check proves nothing. */
export function assertTransaction(connection: PostgresConnection, call: string): void {
  checkConnection(connection, call);
  const isPool = 'totalCount' in connection;
  const isIdle =
    'getTransactionStatus' in connection &&
    typeof connection.getTransactionStatus === 'function' &&
    connection.getTransactionStatus() === 'I';
  if (!isPool && !isIdle) return;
  throw new InvalidInput(
    'The check must run in the transaction of the write; got ' +
      `${isPool ? 'a pool' : 'a connection without one'}. ` +
      "Take a client, await its query('begin'), and pass that client.",
  );
}

/** Returns the `fence` of the first row; null without a row. */
export function fenceIn([row]: readonly unknown[]): unknown {
  return typeof row === 'object' && row !== null && 'fence' in row ? row.fence : null;
}

// The permit of one request inside a resource. It is a connection with an open transaction, whose
// row lock lasts as long as the connection. If the server ends the connection, the permit is lost,
// whatever the request is doing. The guard can then only report it.

export class HeldPermit {
  readonly client: PostgresPoolClient;
  readonly #resource: string;
  readonly #lost: AbortController = new AbortController();
  #left: Promise<void> | undefined;
  /** Also keeps a connection that breaks outside a query from ending the process. */
  readonly #onError = (error: Error): void => {
    this.#lost.abort(new PermitLost(this.#resource, { cause: error }));
  };

  constructor(client: PostgresPoolClient, resource: string) {
    this.client = client;
    this.#resource = resource;
    client.on('error', this.#onError);
  }

  entered(): Entered {
    const leave = () => {
      this.#left ??= this.#leave();
      return this.#left;
    };
    return { kind: 'entered', lost: this.#lost.signal, leave };
  }

  giveBack(destroy: boolean): void {
    this.client.off('error', this.#onError);
    this.client.release(destroy || this.#lost.signal.aborted);
  }

  /** Rejects if the permit was lost earlier: a later holder may have been inside. */
  async #leave(): Promise<void> {
    try {
      this.#lost.signal.throwIfAborted();
      // The transaction wrote nothing; it only held a lock.
      await this.client.query('rollback', []);
    } catch (error) {
      if (!this.#lost.signal.aborted) {
        this.#lost.abort(new PermitLost(this.#resource, { cause: error }));
      }
      this.giveBack(true);
      throw this.#lost.signal.reason;
    }
    this.giveBack(false);
  }
}

/** A pool without a free connection must not make a new holder wait beyond its limit. */
export async function connectWithin(
  pool: PostgresPool,
  limitMs: number,
  timers: Timers,
): Promise<PostgresPoolClient> {
  const connecting = pool.connect();
  const late = Promise.withResolvers<never>();
  let isLate = false;
  const cancel = timers.after(limitMs, () => {
    isLate = true;
    late.reject(
      new StoreUnavailable(
        `The pool had no free connection within ${limitMs} ms. No mark was raised. Each ` +
          'request holds one, so pass postgresMarks a pool of its own that is large enough.',
      ),
    );
  });
  connecting.then(
    (client) => {
      if (isLate) client.release();
    },
    () => undefined,
  );
  try {
    return await Promise.race([connecting, late.promise]);
  } finally {
    cancel();
  }
}
