import type { AccessStore, CountUsage } from '../../features/access/port.ts';
import type { CountedQuota } from '../../features/access/quota-model.ts';
import { PROJECT_METADATA } from '../../lease/session.ts';
import { keysOf } from '../sql/access/keys.ts';
import { projectsOf } from '../sql/access/projects.ts';
import { type Database, type Statement, statement } from './database.ts';
import { plainGatewayOf } from './gateway.ts';

export function accessOf(database: Database): AccessStore {
  const gateway = plainGatewayOf(database);
  return {
    ...projectsOf(gateway),
    ...keysOf(gateway),
    usage: (query) => usage(database, query),
  };
}

function upToMax(rows: string): Statement {
  return statement(`select count(*) as count from (select 1 from ${rows} limit $2::bigint) found`);
}

const IN_PROJECT = 'e.project collate "POSIX" = $1';
const PIPELINE = 'e.pipeline collate "POSIX"';

// The index of lists, one pipeline after the other, and in it only what is queued or waits; and what runs, by its own.
const EXECUTIONS = statement(`
  with recursive pipeline as (
    select (select e.pipeline from hf.execution e where ${IN_PROJECT} and e.status <> 1 order by ${PIPELINE} limit 1) as name
    union all
    select (select e.pipeline from hf.execution e where ${IN_PROJECT} and e.status <> 1 and ${PIPELINE} > p.name collate "POSIX" order by ${PIPELINE} limit 1)
      from pipeline p
     where p.name is not null
  )
  select count(*) as count
    from (select 1
            from pipeline p
           cross join (values (0::smallint), (2::smallint)) as s(status)
           cross join lateral (
                 select 1
                   from hf.execution e
                  where ${IN_PROJECT}
                    and ${PIPELINE} = p.name collate "POSIX"
                    and e.status between s.status and s.status
                    and e.status <> 1
                  order by e.status desc, e.id desc
                  limit $2::bigint
                 ) open
           union all
          select 1
            from hf.execution e
           where e.status = 1
             and e.project = $1
           limit $2::bigint) found`);

// Each by an index that has nothing in it of what is over.
const COUNTS: Readonly<Record<CountedQuota, Statement>> = {
  executions: EXECUTIONS,
  sessions: upToMax(
    `hf.session s where s.ended_at is null and s.metadata ->> '${PROJECT_METADATA}' = $1`,
  ),
  bytes: statement(`
  select coalesce((select sum(b.bytes) from hf.blob_of b where b.project collate "POSIX" = $1), 0)::bigint
         + coalesce((select sum(a.size) from hf.attachment a where a.project = $1), 0)::bigint as count`),
};

export async function usage(
  database: Database,
  { project, quota, max }: CountUsage,
): Promise<number> {
  const values = quota === 'bytes' ? [project] : [project, max];
  const [row] = await database.rows<{ count: number }>(COUNTS[quota], values);
  return row?.count ?? 0;
}
