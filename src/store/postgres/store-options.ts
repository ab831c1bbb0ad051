// Options of the PostgreSQL store. Users without `pg` compile against this file, so it does not import its types.

import type { LeasePolicy } from '../../lease/policy.ts';
import { InvalidInput } from '../../support/fault.ts';
import { boundedText, wordsIn } from '../../support/options.ts';

/** Options of `openPostgresStore`. */
export interface PostgresStoreOptions {
  /**
   * The URL of the database, such as `postgres://user@host/database`. It may name several hosts,
   * `postgres://user@a:5432,b:5432/database`: each connection goes to the primary among them.
   */
  readonly url: string;
  /**
   * A URL that bypasses the pooler, for LISTEN, if `url` leads to one in transaction mode. Without
   * it, waiters poll.
   */
  readonly directUrl?: string;
  /** The schema of the store. It is created if it does not exist. Default `holdfast`. */
  readonly schema?: string;
  /** Limits that differ from `DEFAULT_POLICY`. */
  readonly policy?: Partial<LeasePolicy>;
  /** The size of the connection pool, 1 to 1,000. Default 10. */
  readonly connectionsMax?: number;
  /** True: `url` leads to a pooler in transaction mode. By default this is detected. */
  readonly pooler?: boolean;
  /**
   * False: do not prepare statements, for poolers that do not support it. By default this is
   * detected.
   */
  readonly prepare?: boolean;
  /** Milliseconds to wait for a connection. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds after which the server cancels a statement. Default 10,000. */
  readonly statementTimeoutMs?: number;
  /** For tests: SQL that returns the store's time in whole milliseconds. */
  readonly nowSql?: string;
  /** For tests: called before and after every commit of an operation on executions. */
  readonly onBoundary?: (phase: 'before' | 'after', n: number) => void;
}

export const OPTION_NAMES: readonly (keyof PostgresStoreOptions)[] = wordsIn(
  'url directUrl schema policy connectionsMax pooler prepare connectTimeoutMs statementTimeoutMs nowSql onBoundary',
);

export function schemaOf(options: PostgresStoreOptions): string {
  const schema = boundedText('schema', options.schema ?? 'holdfast', 48);
  if (!/^[a-z_][a-z0-9_]*$/.test(schema)) {
    throw new InvalidInput(
      `schema must be lower-case letters, digits and underscores, not starting with a digit; got ${JSON.stringify(schema)}.`,
    );
  }
  return schema;
}
