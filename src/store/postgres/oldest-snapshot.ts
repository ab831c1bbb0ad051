// Finds the transaction with the oldest snapshot. PostgreSQL keeps every row version that this
// transaction might still read, with its index entries, and claims walk past them (ADR 0040).

import type { StoreProblem } from '../contract/census-store.ts';
import { type Queries, type Statement, statement } from './database.ts';

export interface SnapshotRow {
  readonly holder: string;
  readonly end: string | null;
  /** Null if the role may not see it. */
  readonly seconds: number | null;
  /** The number of transactions that began since. */
  readonly transactions: number;
}

// Snapshots of other databases retain nothing here. Standbys and replication slots do, whatever
// database they read.
export const OLDEST_SNAPSHOT: Statement = statement(`
  select a.holder, a.end, extract(epoch from clock_timestamp() - a.since)::float8 as seconds, age(a.xmin) as transactions
    from (
      select 'process ' || a.pid || coalesce(', user ' || a.usename, '') || coalesce(', application ' || nullif(a.application_name, ''), '') || coalesce(', ' || a.state, '') as holder,
             'select pg_terminate_backend(' || a.pid || ')' as end, a.xact_start as since, a.backend_xmin as xmin
        from pg_stat_activity a
       where coalesce(a.datname = current_database(), true)
         and a.pid <> pg_backend_pid()
         and a.backend_type is distinct from 'autovacuum worker'
       union all
      select 'prepared transaction ' || p.gid || ', owner ' || p.owner, 'rollback prepared ' || quote_literal(p.gid), p.prepared, p.transaction
        from pg_prepared_xacts p
       where p.database = current_database()
       union all
      select 'replication slot ' || s.slot_name, null, null, s.xmin
        from pg_replication_slots s
    ) a
   where a.xmin is not null
   order by age(a.xmin) desc
   limit 1`);

/** Younger snapshots are normal. */
const SECONDS_MIN = 60;

/** Returns a snapshot that is old enough to report to operators. */
export async function findSnapshotProblem(queries: Queries): Promise<StoreProblem | undefined> {
  const [row] = await queries.rows<SnapshotRow & object>(OLDEST_SNAPSHOT, []);
  return row === undefined ? undefined : snapshotProblem(row);
}

export function snapshotProblem({ holder, end, seconds }: SnapshotRow): StoreProblem | undefined {
  if (seconds !== null && seconds <= SECONDS_MIN) return undefined;
  const since = seconds === null ? '' : ` for ${Math.round(seconds)} s`;
  return {
    sentence: `A transaction that is open${since} keeps PostgreSQL from cleaning up, so claims get slower: ${holder}.`,
    advice: end === null ? 'Let it end, or drop the slot.' : `Let it end, or end it: ${end}`,
  };
}
