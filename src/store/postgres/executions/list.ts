// The index of lists by pipeline and status on PostgreSQL. A loose scan finds pipelines, then the
// first rows of each status. Running executions have their own index.

import {
  LIST_ROWS_MAX,
  type ListExecutions,
  type ListSort,
} from '../../contract/execution-reads.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import {
  isInRelease,
  isListed,
  type Lead,
  LIST_CHECKS,
  type Statements,
} from '../../sql/list-leads.ts';
import { dialects, type Script, type Sql } from '../../sql/script.ts';

// The index uses this collation; see the migration.
const IN_PROJECT = 'e.project collate "POSIX" = :project';
const PIPELINE = 'e.pipeline collate "POSIX"';
/** Ends the scan after the releases of the pipeline, if one is given. */
const IN_ROUTES = `${PIPELINE} < coalesce(:pipeline::text || ' ', chr(1114111)) collate "POSIX"`;

const STREAMS = `
  with recursive route as (
    select coalesce(:pipeline::text, (select e.pipeline from hf.execution e where ${IN_PROJECT} and e.status <> 1 order by ${PIPELINE} limit 1)) as name
    union all
    select (select e.pipeline from hf.execution e where ${IN_PROJECT} and e.status <> 1 and ${PIPELINE} > r.name collate "POSIX" and ${IN_ROUTES} order by ${PIPELINE} limit 1)
      from route r
     where r.name is not null
  ),
  stream as materialized (
    select r.name, s.status
      from route r
     cross join unnest(coalesce(:statuses::smallint[], '{${Object.values(STATUS_CODES).join(',')}}')) as s(status)
     where r.name is not null
       and ${isListed('r.name')}
       and ${isInRelease('r.name')}
  )`;

/** Equality down to the id makes its bounds those of the scan. The index has all columns. */
function rowsOf(sort: ListSort, limit: string): string {
  const direction = sort === 'oldest' ? 'asc' : 'desc';
  return `
         select e.id
           from hf.execution e
          where ${IN_PROJECT}
            and ${PIPELINE} = s.name collate "POSIX"
            and e.status = s.status
            and e.status <> 1
            and e.id >= :downTo::uuid
            and e.id < :before::uuid
          order by e.id ${direction}
          limit ${limit}`;
}

/** Worker capacity bounds their number. `offset` leaves the planner only their index. */
const RUNNING = `
         select e.id
           from hf.execution e
          where e.status = 1
            and e.project >= ''
            and e.project = :project
            and coalesce(e.id >= :downTo::uuid and e.id < :before::uuid, false)
            and coalesce(e.status = any (:statuses::smallint[]), :statuses::smallint[] is null)
            and ${isListed('e.pipeline')}
            and ${isInRelease('e.pipeline')}
         offset 0`;

function found(sort: ListSort): Sql {
  const direction = sort === 'oldest' ? 'asc' : 'desc';
  const isByEnd = sort === 'ended';
  // The order of the inner rows is that of the outer ones, so the limit stops the checks.
  const postgres = `${STREAMS}
  select e.id, e.ended_at
    from (
    select x.id
      from stream s
     cross join lateral (${rowsOf(sort, ':each')}) as x
     union all
    (select e.id from (${RUNNING}) as e order by e.id ${direction} limit ${LIST_ROWS_MAX})
     order by 1 ${direction}
     limit :within
    ) as n
    join hf.execution as e on e.id == n.id
   where ${LIST_CHECKS.postgres}
     ${isByEnd ? 'and (e.ended_at, e.id) < (:endedTo::bigint, :endedToId::uuid)' : ''}
   order by ${isByEnd ? 'e.ended_at desc, e.id desc' : `n.id ${direction}`}
   limit :limit`;
  return dialects({ sqlite: '', postgres });
}

/** The most entries of the index that one page reads of one pipeline and status, and of all. */
const EACH_MAX = 2_000;
const ALL_MAX = 50_000;

// A page ends with the last row that was read of any stream, or with the last that it may examine.
function edge(sort: ListSort): Sql {
  const direction = sort === 'oldest' ? 'asc' : 'desc';
  const postgres = `${STREAMS},
  share as materialized (
    select greatest(20, least(${EACH_MAX}, ${ALL_MAX} / greatest(1, count(*)))) as n from stream
  ),
  read as materialized (
    select x.id, x.nth
      from stream s
     cross join lateral (
           select y.id, row_number() over () as nth from (${rowsOf(sort, '(select n from share)')}) as y
           ) as x
  )
  select z.id
    from (
    (select id from read order by id ${direction} offset :share::bigint - 1 limit 1)
     union all
    select id from read where nth = (select n from share)
    ) as z
   order by z.id ${direction}
   limit 1`;
  return dialects({ sqlite: '', postgres });
}

const BY_STREAM: Statements = {
  found: { newest: found('newest'), oldest: found('oldest'), ended: found('ended') },
  edge: { newest: edge('newest'), oldest: edge('oldest'), ended: edge('ended') },
};

const COUNT = dialects({
  sqlite: '',
  postgres: `${STREAMS}
  select count(*) as count
    from (
    select 1
      from stream s
     cross join lateral (${rowsOf('newest', ':limit')}) as x
     union all
    select 1 from (${RUNNING}) as e
     limit :limit) as y`,
});

const LEADS: readonly Lead[] = [
  {
    serves: ['status', 'pipeline', 'release'],
    isOrdered: true,
    parts: [{ statements: BY_STREAM }],
    count: COUNT,
  },
];

// biome-ignore lint/correctness/useYield: SQLite reads the releases of a pipeline here.
export function* baseLeads(_: ListExecutions): Script<readonly Lead[]> {
  return LEADS;
}
