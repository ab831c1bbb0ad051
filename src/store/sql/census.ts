// Counts executions that run or wait for a worker.

import type { SessionId } from '../../lease/names.ts';
import type {
  CensusStore,
  CountDepth,
  CountInFlight,
  Depth,
  InFlight,
} from '../contract/census-store.ts';
import { laneOf } from '../execution-rows.ts';
import { routesUpTo } from './routes.ts';
import {
  all,
  type Dialects,
  dialects,
  type Gateway,
  type Script,
  sql,
  sqlPerDialect,
} from './script.ts';

const IN_FLIGHT = sql(`
  select e.session_id as session, e.lane, count(*) as count
    from hf.execution as e indexed by execution_running
   where e.status = 1
     and e.session_id = any (:sessions::uuid[])
     and (:project::text is null or e.project = :project)
   group by e.session_id, e.lane
   order by e.session_id, e.lane`);

/**
 * PostgreSQL has two partial indexes. Each query must repeat the condition of its index, or
 * PostgreSQL would read the table.
 */
export const READY: Dialects<readonly string[]> = {
  sqlite: ['e.ready_at is not null and e.hold = 0'],
  postgres: [
    'e.ready_at is not null and e.hold = 0 and not e.gated',
    'e.ready_at is not null and e.hold = 0 and e.gated',
  ],
};

const EXECUTIONS = 'hf.execution as e indexed by execution_ready';
const RUNNING = 'hf.execution as e indexed by execution_running where e.status = 1';

const DEPTH = sqlPerDialect(READY, (conditions) =>
  depthOf({
    ready: conditions.map((has) => `select 1 from ${EXECUTIONS} where ${has}`),
    running: `select 1 from ${RUNNING} and e.lane = l.lane`,
  }),
);

/** A project with more pipelines is counted by the first of them, so that one count stays short. */
export const COUNTED_PIPELINES_MAX = 1_000;

const ROUTES = routesUpTo(COUNTED_PIPELINES_MAX);

export const DEPTH_OF_PROJECT = dialects({
  sqlite: depthOfProject(READY.sqlite, ROUTES.sqlite),
  postgres: depthOfProject(READY.postgres, ROUTES.postgres),
});

function depthOfProject(conditions: readonly string[], routes: string): string {
  const ready = conditions.map(
    (each) =>
      `select 1 from route as w cross join ${EXECUTIONS} where ${each} and e.pipeline == w.name and e.project = :project`,
  );
  return `
  with recursive ${routes}, running as materialized (
    select e.lane
      from hf.execution as e indexed by execution_carrier
     where e.status = 1 and e.project = :project and e.project >= ''
     limit :max::bigint * 2
  )
  ${depthOf({ ready, running: 'select 1 from running where running.lane = l.lane' })}`;
}

function depthOf({
  ready,
  running,
}: {
  readonly ready: readonly string[];
  readonly running: string;
}): string {
  const due = ready.map((each) => `${each} and e.lane = l.lane and e.ready_at <= clock.now`);
  const counted = (rows: string): string =>
    `(select count(*) from (${rows} limit :max::bigint) as r)`;
  return `
  select l.lane,
         ${counted(due.join(' union all '))} as ready,
         ${counted(running)} as running
    from (select 0 as lane union all select 1) as l
   cross join (select hf_now() as now) as clock
   order by l.lane`;
}

export function censusOf({ read }: Gateway) {
  return {
    inFlight: (query) => read(() => inFlight(query)),
    depth: (query) => read(() => depth(query)),
  } satisfies Partial<CensusStore>;
}

function* inFlight(query: CountInFlight): Script<readonly InFlight[]> {
  type Row = { session: SessionId; lane: number; count: number };
  const rows = yield* all<Row>(IN_FLIGHT, query);
  return rows.map(({ session, lane, count }) => ({ session, lane: laneOf(lane), count }));
}

function* depth(query: CountDepth): Script<readonly Depth[]> {
  type Row = { lane: number; ready: number; running: number };
  const rows = yield* all<Row>(query.project === undefined ? DEPTH : DEPTH_OF_PROJECT, query);
  return rows.map(({ lane, ready, running }) => ({ lane: laneOf(lane), ready, running }));
}
