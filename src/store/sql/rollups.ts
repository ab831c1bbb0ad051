// Rolls ended executions up for operators, and reads the sums.
//
//   position ──▶ executions that ended since, until the edge ──▶ rollups of each length
//      ▲                                                             │ in one transaction
//      └─────────────────────────────────────────────────────────────┘

import type { TerminalStatus } from '../../execution/execution.ts';
import { OWN_PREFIX } from '../../execution/names.ts';
import { parseRoute, ROUTE_MARK, routeOf } from '../../execution/route.ts';
import { bucketSql, type EndedCount, ROLLUP_STEPS } from '../../features/overview/model.ts';
import type {
  EndedSums,
  OverviewStore,
  ReadEnded,
  RolledUp,
} from '../../features/overview/port.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import { toStatus } from '../execution-rows.ts';
import { all, dialects, type Gateway, one, type Script, sql, sqlPerDialect } from './script.ts';

/** The most executions of one project in one transaction, besides those of the last millisecond. */
const ROWS_MAX = 10_000;

const KEEP_MS_MAX = Math.max(...ROLLUP_STEPS.map(({ keepMs }) => keepMs));

const BEGIN = sql(`
  insert into hf.rollup_position (id, until)
  values (1, hf_now() - ${KEEP_MS_MAX}::bigint)
      on conflict do nothing`);

const LOCK = sql('select until from hf.rollup_position where id = 1 for update');

// A transaction that ended an execution may commit later than one with a later end. So PostgreSQL
// leaves out everything since the start of the oldest transaction that writes.
const HORIZON = dialects({
  sqlite: 'select hf_now() - 1000 as until',
  postgres: `
  select hf_now() - greatest(1000, (
           select ceil(extract(epoch from clock_timestamp() - min(a.xact_start)) * 1000)
             from pg_stat_get_activity(null) a
            where a.datid = (select d.oid from pg_database d where d.datname = current_database())
              and a.pid <> pg_backend_pid()
              and a.backend_xid is not null))::bigint as until`,
});

const ENDED = 'hf.execution as e indexed by execution_ended';

/** Takes one index step per project that has ended executions. */
const PROJECTS = `
  with recursive project (name) as (
    select (select e.project from ${ENDED} where e.ended_at is not null order by e.project limit 1)
     union all
    select (select e.project from ${ENDED} where e.ended_at is not null and e.project > p.name order by e.project limit 1)
      from project as p
     where p.name is not null
  )`;

const SINCE = `e.ended_at is not null
            and (e.project, e.ended_at) > (p.name, :from::bigint)
            and (e.project, e.ended_at) <= (p.name, :until::bigint)`;

const EDGE = sql(`${PROJECTS}
  select min((select e.ended_at
           from ${ENDED}
          where ${SINCE}
          order by e.project, e.ended_at
          limit 1 offset ${ROWS_MAX - 1})) as edge
    from project as p
   where p.name is not null`);

const STEPS = ROLLUP_STEPS.map(({ ms }) => `select ${ms} as ms`).join(' union all ');

/** PostgreSQL reads the index once per project. Otherwise its planner could read all of it. */
const ENDED_SINCE = {
  sqlite: { join: ENDED, where: `and ${SINCE}` },
  postgres: {
    join: `lateral (select e.* from hf.execution as e where ${SINCE} offset 0) as e`,
    where: '',
  },
};

const ADD = sqlPerDialect(
  ENDED_SINCE,
  ({ join, where }) => `
  insert into hf.rollup (project, step_ms, at, pipeline, status, bucket, count, max_ms)
  ${PROJECTS}
  select e.project, s.ms, e.ended_at / s.ms * s.ms, e.pipeline, e.status, ${bucketSql('(e.ended_at - e.submitted_at)')}, count(*), max(e.ended_at - e.submitted_at)
    from project as p
   cross join ${join}
   cross join (${STEPS}) as s
   where p.name is not null
     ${where}
     and substr(e.pipeline, 1, ${OWN_PREFIX.length}) <> '${OWN_PREFIX}'
   group by 1, 2, 3, 4, 5, 6
      on conflict (project, step_ms, at, pipeline, status, bucket) do update
     set count  = rollup.count + excluded.count,
         max_ms = case when rollup.max_ms < excluded.max_ms then excluded.max_ms else rollup.max_ms end`,
);

const NAMES = `${PROJECTS} select name from project where name is not null`;

const FORGET = ROLLUP_STEPS.map(({ ms, keepMs }) =>
  sqlPerDialect(
    { sqlite: `in (${NAMES})`, postgres: `= any (array(${NAMES}))` },
    (names) => `
  delete from hf.rollup
   where step_ms = ${ms}
     and at < :until::bigint - ${keepMs}::bigint
     and project ${names}`,
  ),
);

const ADVANCE = sql('update hf.rollup_position set until = :until::bigint where id = 1');

const UNTIL = sql('select until from hf.rollup_position where id = 1');

const IN_RANGE = `r.project = :project
     and r.step_ms = :stepMs
     and r.at >= :from
     and r.at < :to`;

const SIZE = sql(`
  select count(*) as size
    from (select 1 from hf.rollup as r where ${IN_RANGE} limit ${LIST_ROWS_MAX + 1}) as counted`);

/** The newest counts, however many a project has. */
const NEWEST = `
    from (select r.* from hf.rollup as r where ${IN_RANGE} order by r.at desc limit ${LIST_ROWS_MAX}) as r
   where (:route::text is null or r.pipeline = :route or substr(r.pipeline, 1, length(:routes::text)) = :routes)`;

/** Unknown if an older build counted one of them. */
const LONGEST = 'case when count(*) = count(r.max_ms) then max(r.max_ms) end as max_ms';

const BY_INTERVAL = sql(`
  select r.at - (r.at - :from) % :intervalMs::bigint as at, r.status, r.bucket, sum(r.count)::bigint as count, ${LONGEST}
    ${NEWEST}
   group by 1, 2, 3
   order by 1, 2, 3`);

const BY_PIPELINE = sql(`
  select r.pipeline, r.status, r.bucket, sum(r.count)::bigint as count, ${LONGEST}
    ${NEWEST}
   group by 1, 2, 3
   order by 1, 2, 3`);

type Rollups = Pick<OverviewStore, 'rollUp' | 'endedCounts' | 'endedSize'>;

export function rollupsOf({ read, write }: Gateway): Rollups {
  return {
    // `write`, not `repeat`: the next call continues from the position, whatever became of this one.
    rollUp: () => write(rollUp),
    endedCounts: (query) => read(() => endedCounts(query)),
    endedSize: (query) => read(() => endedSize(query)),
  };
}

type Until = { readonly until: Instant };

function* rollUp(): Script<RolledUp> {
  yield* all(BEGIN);
  const { until: from } = (yield* one<Until>(LOCK)) as Until;
  const { until: horizon } = (yield* one<Until>(HORIZON)) as Until;
  if (horizon <= from) return { until: from, more: false };
  const row = yield* one<{ readonly edge: Instant | null }>(EDGE, { from, until: horizon });
  const until = row?.edge ?? horizon;
  yield* all(ADD, { from, until });
  for (const each of FORGET) yield* all(each, { until });
  yield* all(ADVANCE, { until });
  return { until: toInstant(until), more: until < horizon };
}

function* endedSize(query: ReadEnded): Script<number> {
  return (yield* one<{ readonly size: number }>(SIZE, query))?.size ?? 0;
}

interface CountRow {
  readonly status: number;
  readonly bucket: number;
  readonly count: number;
  readonly max_ms: number | null;
}

type PlaceRow = CountRow & { readonly at: number; readonly pipeline: string };

function* endedCounts(query: ReadEnded): Script<EndedSums> {
  const { pipeline, release } = query;
  // Without a release, those of all releases count.
  const route =
    pipeline === undefined
      ? {}
      : release === undefined
        ? { route: pipeline, routes: `${pipeline}${ROUTE_MARK}` }
        : { route: routeOf({ pipeline, release }) };
  const position = yield* one<Until>(UNTIL);
  const intervals = yield* all<PlaceRow>(BY_INTERVAL, { ...query, ...route });
  const pipelines = yield* all<PlaceRow>(BY_PIPELINE, { ...query, ...route });
  return {
    ...position,
    byInterval: intervals.map((row) => ({ ...toEndedCount(row), at: toInstant(row.at) })),
    byPipeline: pipelines.map((row) => ({ ...toEndedCount(row), ...parseRoute(row.pipeline) })),
  };
}

function toEndedCount({ status, bucket, count, max_ms: maxMs }: CountRow): EndedCount {
  const known = maxMs === null ? {} : { maxMs };
  return { status: toStatus(status) as TerminalStatus, bucket, count, ...known };
}
