// Counts executions that run or wait for a worker (X-40, X-41).

import type { SessionId } from '../../lease/names.ts';
import type {
  CensusStore,
  CountDepth,
  CountInFlight,
  Depth,
  InFlight,
} from '../contract/census-store.ts';
import { laneOf } from '../execution-rows.ts';
import { all, type Dialects, type Gateway, type Script, sql, sqlPerDialect } from './script.ts';

const IN_FLIGHT = sql(`
  select e.session_id as session, e.lane, count(*) as count
    from hf.execution as e indexed by execution_running
   where e.status = 1
     and e.session_id = any (:sessions::uuid[])
     and (:project::text is null or e.project = :project)
   group by e.session_id, e.lane
   order by e.session_id, e.lane`);

interface ReadyIndex {
  readonly name: string;
  readonly has: string;
}

/**
 * PostgreSQL has two partial indexes. Each query must repeat the condition of its index, or
 * PostgreSQL would read the table.
 */
const READY_INDEXES: Dialects<readonly ReadyIndex[]> = {
  sqlite: [{ name: 'waiting', has: 'e.ready_at is not null and e.hold = 0' }],
  postgres: [
    { name: 'waiting', has: 'e.ready_at is not null and e.hold = 0 and not e.gated' },
    { name: 'gated', has: 'e.ready_at is not null and e.hold = 0 and e.gated' },
  ],
};

const EXECUTIONS = 'hf.execution as e indexed by execution_ready';

const DEPTH = sqlPerDialect(READY_INDEXES, (indexes) =>
  depthOf(indexes.map(({ has }) => `select 1 from ${EXECUTIONS} where ${has}`)),
);

const DEPTH_OF_PROJECT = sqlPerDialect(READY_INDEXES, (indexes) => {
  const ready = indexes.map(
    ({ name, has }) =>
      `select 1 from ${name} as w cross join ${EXECUTIONS} where ${has} and e.pipeline == w.pipeline and e.project = :project`,
  );
  return `
  with recursive ${indexes.map(pipelinesOf).join(', ')}
  ${depthOf(ready)}`;
});

/** Takes one index step per pipeline that has ready executions. */
function pipelinesOf({ name, has }: ReadyIndex): string {
  const next = (where: string): string =>
    `(select e.pipeline from ${EXECUTIONS} where ${where} order by e.pipeline limit 1)`;
  return `${name} (pipeline) as (
    select ${next(has)}
     union all
    select ${next(`${has} and e.pipeline > w.pipeline`)}
      from ${name} as w
     where w.pipeline is not null
  )`;
}

function depthOf(ready: readonly string[]): string {
  const due = ready.map((each) => `${each} and e.lane = l.lane and e.ready_at <= clock.now`);
  return `
  select l.lane,
         (select count(*)
            from (${due.join(' union all ')}
                   limit :max::bigint) as r) as ready,
         (select count(*)
            from (select 1
                    from hf.execution as e indexed by execution_running
                   where e.status = 1
                     and e.lane = l.lane
                     and (:project::text is null or e.project = :project)
                   limit :max::bigint) as r) as running
    from (select 0 as lane union all select 1) as l
   cross join (select hf_now() as now) as clock
   order by l.lane`;
}

export function censusOf({ read }: Gateway): Pick<CensusStore, 'inFlight' | 'depth'> {
  return {
    inFlight: (query) => read(() => inFlight(query)),
    depth: (query) => read(() => depth(query)),
  };
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
