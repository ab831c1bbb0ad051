// Detects a pooler between this process and the server. A pooler in transaction mode gives each
// transaction any free connection. It refuses or drops start-up settings, LISTEN does not work, and
// prepared statements are missing on other connections unless the pooler tracks them. The store can
// work without all of these, so it detects the pooler unless the options name it.

import type { ClientBase, Pool } from 'pg';
import { systemRandom } from '../../support/random.ts';
import { type Driver, poolOf } from './connect.ts';
import { quoteIdentifier, toFault } from './database.ts';
import type { PostgresStoreOptions } from './store-options.ts';

/** The path by which statements reach the server. */
export interface Way {
  readonly isPooled: boolean;
  /** A prepared statement exists on whichever connection serves the next transaction. */
  readonly keepsPrepared: boolean;
}

export interface OpenedPool {
  readonly pool: Pool;
  /** The options, with the detected values filled in. */
  readonly options: PostgresStoreOptions;
}

export async function openPool(options: PostgresStoreOptions, pg: Driver): Promise<OpenedPool> {
  const pool = poolOf(options, pg);
  const isConfigured = options.pooler === false || options.prepare !== undefined;
  if (options.pooler !== undefined && isConfigured) return { pool, options };
  const way = await wayThrough(pool).catch(async (cause: unknown) => {
    await pool.end();
    if (options.pooler === undefined && isRefusedByPooler(cause)) return undefined;
    throw toFault(cause);
  });
  if (way === undefined) return openPool({ ...options, pooler: true }, pg);
  if (!way.isPooled) return { pool, options };
  const found = { ...options, pooler: true, prepare: options.prepare ?? way.keepsPrepared };
  if (options.pooler === true) return { pool, options: found };
  // The pooler accepted or ignored the start-up settings. They must not stay on connections that
  // others share.
  await pool.end();
  return { pool: poolOf(found, pg), options: found };
}

async function wayThrough(pool: Pool): Promise<Way> {
  const client = await pool.connect();
  try {
    const way = await wayOf(client);
    client.release();
    return way;
  } catch (cause) {
    client.release(true);
    throw cause;
  }
}

const PROBE = `
  select exists (select from pg_catalog.pg_prepared_statements p where p.name = $1) as own`;

/**
 * A server reports its own process id when a connection starts. A pooler has none and invents one.
 * A pooler that tracks prepared statements renames them.
 */
export async function wayOf(client: ClientBase): Promise<Way> {
  const { processID } = client as ClientBase & { readonly processID: number | null };
  const pid = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  if (pid.rows[0]?.pid === processID) return { isPooled: false, keepsPrepared: true };
  const name = `hf_probe_${systemRandom.uuid()}`;
  await client.query('begin');
  const { rows } = await client.query<{ own: boolean }>({ name, text: PROBE, values: [name] });
  const isOwn = rows[0]?.own === true;
  if (isOwn) await client.query(`deallocate ${quoteIdentifier(name)}`);
  await client.query('commit');
  return { isPooled: true, keepsPrepared: !isOwn };
}

/**
 * The error that PgBouncer returns for a start-up parameter that it is not configured to ignore.
 */
export function isRefusedByPooler(cause: unknown): boolean {
  const { message = '' } = cause as Partial<Error>;
  return message.includes('unsupported startup parameter');
}
