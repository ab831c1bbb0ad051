// A thin layer over `pg`. It fills schema and clock into statements, and maps driver errors to the
// three faults that a store may throw.

import { createHash } from 'node:crypto';
import type { Client, ClientBase, Pool, PoolClient, PoolConfig, QueryResultRow } from 'pg';
import {
  Fault,
  InvalidInput,
  OutcomeUnknown,
  StoreSealed,
  StoreUnavailable,
} from '../../support/fault.ts';
import { type BoundText, StatementGroup } from './statement-group.ts';

/**
 * One SQL text, prepared once per connection. Write `hf.` for the schema and `hf_now()` for the
 * time.
 */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export function statement(text: string): Statement {
  return { name: `hf_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`, text };
}

export interface DatabaseConfig {
  readonly schema: string;
  /** SQL for store time in whole milliseconds. Tests pass a clock that they can move. */
  readonly nowSql: string;
  /** Off behind a pooler in transaction mode that does not track prepared statements. */
  readonly prepare: boolean;
  /**
   * Settings for each transaction, if a pooler shares connections. A single statement then becomes
   * a transaction too: without its settings, the server would JIT-compile a claim for seconds.
   */
  readonly settings?: string | undefined;
}

/**
 * Truncates to milliseconds. It uses clock_timestamp(), because now() stands still in a transaction
 * (C-1).
 */
export const STORE_NOW_SQL = '(floor(extract(epoch from clock_timestamp()) * 1000)::bigint)';

export interface Queries {
  rows<Row extends QueryResultRow>(
    statement: Statement,
    values: readonly unknown[],
  ): Promise<readonly Row[]>;
}

/** A statement with its values. */
export interface Bound {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** The outcome of an `attempt` body: commit or roll back, and the result to return. */
export interface Attempted<Result> {
  readonly keep: boolean;
  readonly result: Result;
}

/** Wraps a commit. See executions/parts.ts. */
export interface Committing {
  around<Result>(commit: () => Promise<Result>): Promise<Result>;
}

const AT_ONCE: Committing = { around: (commit) => commit() };

export class Database implements Queries {
  readonly #pool: Pool;
  readonly #config: DatabaseConfig;
  readonly #begin: string;
  readonly #texts: Map<Statement, { readonly name: string; readonly text: string }> = new Map();

  constructor(pool: Pool, config: DatabaseConfig) {
    this.#pool = pool;
    this.#config = config;
    this.#begin = config.settings === undefined ? 'begin' : `begin; ${config.settings}`;
  }

  /** Runs queries on a connection outside the pool, without leaving prepared statements there. */
  on(client: ClientBase): Queries {
    const { types } = this.#pool.options;
    return {
      rows: async <Row extends QueryResultRow>(text: Statement, values: readonly unknown[]) => {
        const config = { ...this.#prepared(text), name: '', values: [...values] };
        const typed = { ...config, ...(types && { types }) };
        return (await client.query<Row>(typed)).rows;
      },
    };
  }

  async rows<Row extends QueryResultRow>(
    statement: Statement,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    if (this.#config.settings === undefined) return this.#run<Row>(this.#pool, statement, values);
    return this.attempt(async (queries) => ({
      keep: true,
      result: await queries.rows<Row>(statement, values),
    }));
  }

  /**
   * Runs several statements in one transaction. It sends them together and waits once, unless each
   * transaction begins with its settings. Returns the rows of each.
   */
  async together(all: readonly Bound[]): Promise<readonly (readonly QueryResultRow[])[]> {
    const { types } = this.#pool.options;
    if (this.#config.settings === undefined && types !== undefined) {
      const bound = all.map(({ statement, values }) => this.#bound(statement, values));
      const group = new StatementGroup(bound, types);
      try {
        // The pool returns a promise, and drops the connection after an error.
        return await (this.#pool.query(group) as unknown as Promise<StatementGroup['results']>);
      } catch (cause) {
        throw toFault(cause);
      }
    }
    return this.attempt(async (queries) => {
      const result: (readonly QueryResultRow[])[] = [];
      for (const { statement, values } of all) result.push(await queries.rows(statement, values));
      return { keep: true, result };
    });
  }

  /** Runs one transaction on one connection, and rolls back if `body` throws. */
  async transaction<Result>(body: (queries: Queries) => Promise<Result>): Promise<Result> {
    const client = await this.#borrow();
    try {
      await client.query(this.#begin);
      const result = await body({ rows: (text, values) => this.#run(client, text, values) });
      await client.query('commit');
      client.release();
      return result;
    } catch (cause) {
      // Do not reuse a connection in an unclear state. Dropping it rolls back.
      client.release(true);
      throw toFault(cause);
    }
  }

  /**
   * Like `transaction`, for a body that may decide to keep nothing. If the connection breaks before
   * the commit is sent, nothing was changed.
   */
  async attempt<Result>(
    body: (queries: Queries, client: ClientBase) => Promise<Attempted<Result>>,
    committing: Committing = AT_ONCE,
  ): Promise<Result> {
    const client = await this.#borrow();
    let isCommitting = false;
    try {
      await client.query(this.#begin);
      const queries: Queries = { rows: (text, values) => this.#run(client, text, values) };
      const { keep, result } = await body(queries, client);
      if (keep) {
        await committing.around(() => {
          isCommitting = true;
          return client.query('commit');
        });
      } else {
        await client.query('rollback');
      }
      client.release();
      return result;
    } catch (cause) {
      client.release(true);
      const fault = toFault(cause);
      throw fault instanceof OutcomeUnknown && !isCommitting ? notSent(cause) : fault;
    }
  }

  #borrow(): Promise<PoolClient> {
    return this.#pool.connect().catch((cause: unknown) => {
      throw notSent(cause);
    });
  }

  /** Runs several statements in one text, without values. Only migrations use it. */
  async script(queries: ClientBase, text: string): Promise<void> {
    await queries.query(this.fill(text));
  }

  fill(text: string): string {
    return text
      .replaceAll(/\bhf\./g, () => `${quoteIdentifier(this.#config.schema)}.`)
      .replaceAll('hf_now()', () => this.#config.nowSql);
  }

  async #run<Row extends QueryResultRow>(
    queries: Pool | ClientBase,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    try {
      return (await queries.query<Row>(this.#bound(statement, values))).rows;
    } catch (cause) {
      throw toFault(cause);
    }
  }

  #bound(statement: Statement, values: readonly unknown[]): BoundText & { values: unknown[] } {
    const { name, text } = this.#prepared(statement);
    return { text, values: [...values], ...(this.#config.prepare ? { name } : {}) };
  }

  /**
   * The name depends on schema and clock, because two stores may share a pooled server connection.
   */
  #prepared(statement: Statement): { readonly name: string; readonly text: string } {
    let prepared = this.#texts.get(statement);
    if (prepared === undefined) {
      const text = this.fill(statement.text);
      const { name } = this.#config.prepare ? statementNamed(text) : statement;
      prepared = { name, text };
      this.#texts.set(statement, prepared);
    }
    return prepared;
  }
}

function statementNamed(text: string): Statement {
  return statement(text);
}

/** Eight-byte integers are times, counters and fences, all of which are safe integers. */
export function numbersForBigints(types: typeof import('pg').types): PoolConfig['types'] {
  return {
    getTypeParser(oid: number, format?: string) {
      if (oid === types.builtins.INT8) return Number;
      return types.getTypeParser(oid, format as 'text');
    },
  } as PoolConfig['types'];
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The SQLSTATE with which the triggers of a seal refuse writes. */
export const SEALED_STATE = 'HFSLD';

/** The SQLSTATE of a missing privilege. */
const NO_RIGHT = '42501';
const GRANT = ' Grant the right. To see what a first start needs, run "holdfast doctor".';

/** Maps a driver error to a fault: done, not done, or unknown. */
export function toFault(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  const error = cause as Partial<Error & { code: string; severity: string; syscall: string }>;
  const what = error.message ?? String(cause);
  if (/^(connect|getaddrinfo)/.test(error.syscall ?? '') || isNeverSent(what))
    return notSent(cause);
  const state = error.code ?? '';
  // PostgreSQL uses the second code for text within JSON.
  if (state === '22021' || state === '22P05') {
    return new InvalidInput(
      'Text must not contain the NUL character: PostgreSQL cannot store it. Nothing was written.',
    );
  }
  if (state === SEALED_STATE) return new StoreSealed(what, { cause });
  if (error.severity === 'ERROR') {
    // The server returned an error, so the statement and its transaction did not happen.
    return /^(40|53|55|57|58|25006|08)/.test(state)
      ? new StoreUnavailable(
          `PostgreSQL refused for now (${state}): ${what}. Nothing was changed. Try again.`,
          { cause },
        )
      : new Fault(
          'store-rejected',
          `PostgreSQL rejected a statement (${state}): ${what}. Nothing was changed.${state === NO_RIGHT ? GRANT : ''}`,
          { cause },
        );
  }
  if (error.severity === 'FATAL' && /^(28|3D|53|57P03)/.test(state)) return notSent(cause);
  return new OutcomeUnknown(
    `The connection to PostgreSQL failed before a response (${what}). The change may or may not have been made.`,
    { cause },
  );
}

/** Messages of `pg` for requests that it never sent. */
function isNeverSent(message: string): boolean {
  return (
    message.includes('timeout exceeded when trying to connect') ||
    message.includes('Cannot use a pool after calling end') ||
    message.includes('Connection terminated due to connection timeout') ||
    message.includes('Client was closed and is not queryable') ||
    message.includes('Client has encountered a connection error and is not queryable')
  );
}

function notSent(cause: unknown): StoreUnavailable {
  const what = cause instanceof Error ? cause.message : String(cause);
  const { code } = cause as { readonly code?: unknown };
  if (code === '3D000') {
    const name = /"([\w.-]+)"/.exec(what)?.[1] ?? '<name>';
    return new StoreUnavailable(
      `PostgreSQL does not have the database (${what}). Nothing was changed. Create it (createdb ${name}), or change the database in the URL.`,
      { cause },
    );
  }
  if (typeof code === 'string' && code.startsWith('28')) {
    return new StoreUnavailable(
      `PostgreSQL refused the login (${what}). Nothing was changed. Check the role, the password and the database in the URL.`,
      { cause },
    );
  }
  return new StoreUnavailable(
    `PostgreSQL cannot be reached (${what}). Nothing was changed. Check the URL, the server and its connection limit.`,
    { cause },
  );
}

/** The SQLSTATE of the error, if PostgreSQL returned one. */
export function stateOf(fault: unknown): string {
  const { cause } = fault as { readonly cause?: { readonly code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : '';
}

export type { Client };
