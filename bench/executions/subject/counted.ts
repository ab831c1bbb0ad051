// Counts transactions and rows in the database itself.

import { type DatabaseSync, StatementSync } from 'node:sqlite';
import pg from 'pg';
import type { StoreLocation } from '../store-location.ts';
import { onStoreConnection, openSubject, type Subject } from './open-subject.ts';

export interface Counted {
  /** Including reads. */
  readonly transactions: number;
  /** Inserted, updated and deleted. */
  readonly rows: number;
}

/** Counts everything from opening the store to closing it. */
export async function counted(
  location: StoreLocation,
  work: (subject: Subject) => Promise<void>,
): Promise<Counted> {
  switch (location.kind) {
    case 'memory':
      throw new Error('Not measured: the memory store counts nothing.');
    case 'sqlite':
      return countedInSqlite(location, work);
    case 'postgres':
      return countedInPostgres(location, work);
  }
}

async function countedInSqlite(
  location: StoreLocation,
  work: (subject: Subject) => Promise<void>,
): Promise<Counted> {
  let transactions = 0;
  const { run } = StatementSync.prototype;
  StatementSync.prototype.run = function (this: StatementSync, ...values) {
    if (this.sourceSQL.startsWith('begin')) transactions += 1;
    return Reflect.apply(run, this, values);
  };
  const subject = await openSubject(location);
  await work(subject);
  const rows = await onStoreConnection(
    subject.holdfast,
    (connection: Pick<DatabaseSync, 'prepare'>) =>
      Number(connection.prepare('select total_changes() as n').get()?.['n']),
  );
  await subject.close();
  return { transactions, rows };
}

/** Waits until the backends have exited: at the latest then they report their statistics. */
async function countedInPostgres(
  location: Extract<StoreLocation, { kind: 'postgres' }>,
  work: (subject: Subject) => Promise<void>,
): Promise<Counted> {
  const subject = await openSubject(location);
  await work(subject);
  await subject.close();
  const otherDatabase = new URL(location.url);
  const database = otherDatabase.pathname.slice(1);
  otherDatabase.pathname = '/postgres';
  const transactions = await withClient(otherDatabase.href, async (client) => {
    while (await number(client, CONNECTED, [database])) await pause(20);
    return number(client, TRANSACTIONS, [database]);
  });
  const rows = await withClient(location.url, (client) => number(client, ROWS, []));
  return { transactions, rows };
}

const CONNECTED = `
  select count(*) as n from pg_stat_activity where datname = $1 and backend_type = 'client backend'`;

const TRANSACTIONS = `
  select xact_commit + xact_rollback as n from pg_stat_database where datname = $1`;

const ROWS = 'select sum(n_tup_ins + n_tup_upd + n_tup_del) as n from pg_stat_user_tables';

async function withClient<Result>(
  url: string,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function number(client: pg.Client, sql: string, values: unknown[]): Promise<number> {
  const { rows } = await client.query<{ n: string | number }>(sql, values);
  return Number(rows[0]?.n ?? 0);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
