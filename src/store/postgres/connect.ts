// The connections of the PostgreSQL store.

import type { Client, Pool, PoolConfig } from 'pg';
import { Fault, InvalidInput, StoreUnavailable } from '../../support/fault.ts';
import { loadPackage } from '../../support/load-package.ts';
import { integerOption } from '../../support/options.ts';
import { numbersForBigints, type Queries, statement } from './database.ts';
import { clientClass } from './primary.ts';
import type { PostgresStoreOptions } from './store-options.ts';

export type Driver = Pick<typeof import('pg'), 'Client' | 'Pool' | 'types'>;

export async function loadDriver(): Promise<Driver> {
  return (await loadPackage('The PostgreSQL store', 'pg', () => import('pg'))).default;
}

/**
 * A connection that breaks outside a query emits an `error` event, which ends the process if it has
 * no listener. So each connection gets one at once: a closing server may send the error with its
 * first packet. The pool replaces an idle connection. On a borrowed one, the next statement fails.
 */
export function poolOf(options: PostgresStoreOptions, pg: Driver): Pool {
  const pool = new pg.Pool(poolConfig(options, pg));
  pool.on('error', ignored);
  pool.on('connect', (client) => client.on('error', ignored));
  return pool;
}

function ignored(): void {
  // The next query on this connection reports the error.
}

function poolConfig(options: PostgresStoreOptions, pg: Driver): PoolConfig {
  const max = integerOption('connectionsMax', options.connectionsMax ?? 10, { min: 1, max: 1_000 });
  const types = numbersForBigints(pg.types);
  return {
    ...connection(options.url, options),
    Client: clientClass(pg, options.url),
    max,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: false,
    ...(types === undefined ? {} : { types }),
  };
}

/** The longest pause between two statements of one of the store's transactions. */
const IDLE_MS_MAX = 2_000;

/**
 * Every statement has an index for its lookups. With missing or old statistics, the planner takes a
 * young table for small, scans it, and keeps that plan while the table grows. So scans are off.
 * Where the planner could still read a whole index, `equalsByIndex` leaves it no choice;
 * test/postgres/plans-postgres.test.ts checks all plans.
 *
 * A generic plan is made once. Otherwise the server would plan a batch of one each time, which
 * costs more than running it.
 *
 * A crash must not lose an acknowledged grant, or its fence would be issued again (T-3).
 *
 * A process that freezes inside a transaction keeps its locks, and other processes cannot take over
 * its work (P4). So the server ends a transaction that stays idle.
 */
const SETTINGS: readonly string[] = [
  ...['enable_seqscan=off', 'enable_bitmapscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off'],
  ...['jit=off', 'plan_cache_mode=force_generic_plan', 'synchronous_commit=on'],
  `idle_in_transaction_session_timeout=${IDLE_MS_MAX}`,
];

function cutMsOf({ statementTimeoutMs = 10_000 }: PostgresStoreOptions): number {
  return integerOption('statementTimeoutMs', statementTimeoutMs, MS_RANGE);
}

/** Behind a pooler, connections are shared, so each transaction carries its settings. */
export function settingsOf(options: PostgresStoreOptions): string | undefined {
  if (options.pooler !== true) return undefined;
  const all = [...SETTINGS, `statement_timeout=${cutMsOf(options)}`];
  return all.map((each) => `set local ${each}`).join('; ');
}

const MS_RANGE = { min: 10, max: 600_000 };

function connection(url: string, options: PostgresStoreOptions): PoolConfig {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new InvalidInput(`url must be a postgres:// URL; got ${JSON.stringify(url)}.`);
  }
  const connectMs = integerOption('connectTimeoutMs', options.connectTimeoutMs ?? 5_000, MS_RANGE);
  const cutMs = cutMsOf(options);
  return {
    connectionString: url,
    connectionTimeoutMillis: connectMs,
    // The server's limit is shorter, so the outcome is known. The client gives up only if the
    // server is silent.
    query_timeout: cutMs + connectMs,
    ...(options.pooler === true
      ? {}
      : { statement_timeout: cutMs, options: SETTINGS.map((each) => `-c ${each}`).join(' ') }),
    keepAlive: true,
    application_name: 'holdfast',
  };
}

export async function connectDirectly(options: PostgresStoreOptions, pg: Driver): Promise<Client> {
  const url = options.directUrl ?? options.url;
  const client = new (clientClass(pg, url))(connection(url, options));
  client.on('error', ignored);
  await client.connect();
  return client;
}

const DURABILITY = statement(`
  select current_setting('server_version_num')::integer as version,
         current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as commit`);

/** Reports durability as the server's settings provide it. */
export async function describeDurability(queries: Queries): Promise<string> {
  const [row] = await queries.rows<{ version: number; fsync: string; commit: string }>(
    DURABILITY,
    [],
  );
  if (row === undefined)
    throw new StoreUnavailable('PostgreSQL did not return its settings. Nothing was opened.');
  if (row.version < 140_000) {
    throw new Fault(
      'server-too-old',
      `Holdfast needs PostgreSQL 14 or newer; this is ${row.version}. Nothing was opened. Upgrade the server.`,
    );
  }
  if (row.commit === 'off') {
    throw new Fault(
      'not-durable',
      'synchronous_commit is off, although this connection set it: a pooler drops the settings of a connection. A crash could take back grants and issue their fences twice, so nothing was opened. Set pooler: true (postgres.pooler) to set it in each transaction.',
    );
  }
  const safe = row.fsync === 'on';
  return `${safe ? 'process and machine crashes' : 'process crashes, not machine crashes'} (fsync ${row.fsync}, synchronous_commit ${row.commit})`;
}
