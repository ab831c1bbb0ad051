// Is there a pooler between us and the server? One in transaction mode gives each transaction whichever
// connection is free: what is asked of a connection at its start is refused or lost, nobody can listen, and a
// statement that was prepared on one is not there on the next unless the pooler tracks it. None of that is
// needed; so it is found out, unless it was said, and done without.

import type { ClientBase, Pool } from 'pg';
import { systemRandom } from '../../support/random.ts';
import { type Driver, type PostgresStoreOptions, poolOf } from './connect.ts';
import { quoteIdentifier, toFault } from './database.ts';

/** How statements reach the server. */
export interface Way {
  readonly isPooled: boolean;
  /** A statement that was prepared is there whichever connection it meets. */
  readonly keepsPrepared: boolean;
}

export interface OpenedPool {
  readonly pool: Pool;
  /** With what was found out about the way. */
  readonly options: PostgresStoreOptions;
}

export async function openPool(options: PostgresStoreOptions, pg: Driver): Promise<OpenedPool> {
  const pool = poolOf(options, pg);
  const isSaid = options.pooler === false || options.prepare !== undefined;
  if (options.pooler !== undefined && isSaid) return { pool, options };
  const way = await wayThrough(pool).catch(async (cause: unknown) => {
    await pool.end();
    if (options.pooler === undefined && isRefusedByPooler(cause)) return undefined;
    throw toFault(cause);
  });
  if (way === undefined) return openPool({ ...options, pooler: true }, pg);
  if (!way.isPooled) return { pool, options };
  const found = { ...options, pooler: true, prepare: options.prepare ?? way.keepsPrepared };
  if (options.pooler === true) return { pool, options: found };
  // It let our settings pass, or passed over them: they belong to no connection that others share.
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
 * A server names its own process when a connection starts; a pooler, which has none to name, makes one up.
 * And one that tracks prepared statements gives them names of its own.
 */
export async function wayOf(client: ClientBase): Promise<Way> {
  const { processID } = client as unknown as { readonly processID: number | null };
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

/** As PgBouncer says it of what it was not told to pass over. */
export function isRefusedByPooler(cause: unknown): boolean {
  const { message = '' } = cause as Partial<Error>;
  return message.includes('unsupported startup parameter');
}
