// Counts executions that run or wait for a worker (X-40, X-41), and what else waits (X-94).

import type { PipelineName } from '../../execution/names.ts';
import { parseRoute } from '../../execution/route.ts';
import { INTERACTION_CODES } from '../../features/awaits/rows.ts';
import type { SessionId } from '../../lease/names.ts';
import type {
  Backlog,
  BacklogEntry,
  CensusStore,
  CountDepth,
  CountInFlight,
  Depth,
  InFlight,
  ReadBacklog,
} from '../contract/census-store.ts';
import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import { laneOf } from '../execution-rows.ts';
import {
  all,
  type Dialects,
  dialects,
  type Gateway,
  type Script,
  sql,
  sqlPerDialect,
} from './script.ts';

// The pipelines of a project, read in one step of an index each, whatever other projects have.

/** PostgreSQL's index leaves out running executions, and "POSIX" selects it; see the migration. */
const INDEX: Dialects<{ readonly from: string; readonly has: string }> = {
  sqlite: { from: 'hf.execution as e indexed by execution_pipeline', has: 'e.project = :project' },
  postgres: {
    from: 'hf.execution as e',
    has: 'e.project collate "POSIX" = :project and e.status <> 1',
  },
};

/** A recursive table `route (name, nth)` with at most `max` rows. The last row may have no name. */
export function routesUpTo(max: number): Dialects {
  return { sqlite: routes(INDEX.sqlite, max), postgres: routes(INDEX.postgres, max) };
}

function routes({ from, has }: (typeof INDEX)['sqlite'], max: number): string {
  const next = (where: string): string =>
    `(select e.pipeline from ${from} where ${where} order by e.pipeline collate "POSIX" limit 1)`;
  return `route (name, nth) as (
    select ${next(has)}, 1
     union all
    select ${next(`${has} and e.pipeline collate "POSIX" > r.name collate "POSIX"`)}, r.nth + 1
      from route as r
     where r.name is not null and r.nth < ${max}
  )`;
}

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
export const IS_READY: Dialects<readonly string[]> = {
  sqlite: ['e.ready_at is not null and e.hold = 0'],
  postgres: [
    'e.ready_at is not null and e.hold = 0 and not e.gated',
    'e.ready_at is not null and e.hold = 0 and e.gated',
  ],
};

const EXECUTIONS = 'hf.execution as e indexed by execution_ready';
const RUNNING = 'hf.execution as e indexed by execution_running where e.status = 1';

const DEPTH = sqlPerDialect(IS_READY, (conditions) =>
  depthOf({
    ready: conditions.map((has) => `select 1 from ${EXECUTIONS} where ${has}`),
    running: `select 1 from ${RUNNING} and e.lane = l.lane`,
  }),
);

/** A project with more pipelines is counted by the first of them, so that one count stays short. */
export const COUNTED_PIPELINES_MAX = 1_000;

const ROUTES = routesUpTo(COUNTED_PIPELINES_MAX);

export const DEPTH_OF_PROJECT = dialects({
  sqlite: depthOfProject(IS_READY.sqlite, ROUTES.sqlite),
  postgres: depthOfProject(IS_READY.postgres, ROUTES.postgres),
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
    backlog: (query = {}) => read(() => backlog(query)),
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

// Returns the queues, questions and dead letters that wait, by pipeline (X-94).

/** A queue is the ready executions of one pipeline, lane and project. */
const QUEUES_MAX = 1_000;

const QUEUE = ['pipeline', 'lane', 'project'];

interface Walk {
  /** The condition of each index of ready executions. */
  readonly conditions: readonly string[];
  /** A lookup by id. PostgreSQL must not compare all ids with the result of the subquery. */
  readonly isFound: (subquery: string) => string;
}

const WALKS: Dialects<Walk> = {
  sqlite: { conditions: IS_READY.sqlite, isFound: (found) => `f.id = ${found}` },
  postgres: { conditions: IS_READY.postgres, isFound: (found) => `f.id = any (array[${found}])` },
};

/** Takes one index step per queue, and reads only its oldest execution. */
function queuesOf(name: string, has: string, isFound: Walk['isFound']): string {
  const columns = (of: string): string => QUEUE.map((column) => `${of}.${column}`).join(', ');
  const first = (beyond: string): string => `(
      select e.id
        from hf.execution as e indexed by execution_ready
       where ${has} ${beyond}
       order by ${columns('e')}, e.ready_at
       limit 1)`;
  return `${name} (${QUEUE.join(', ')}, ready_at, n) as (
    select ${columns('f')}, f.ready_at, 1
      from hf.execution as f
     where ${isFound(first(''))}
     union all
    select ${columns('f')}, f.ready_at, w.n + 1
      from ${name} as w
     cross join hf.execution as f
     where ${isFound(first(`and (${columns('e')}) > (${columns('w')})`))}
       and w.n < ${QUEUES_MAX}
  )`;
}

const QUEUES = sqlPerDialect(WALKS, ({ conditions, isFound }) => {
  const walks = conditions.map((has, nth) => queuesOf(`walk_${nth}`, has, isFound));
  const each = walks.map((_, nth) => `select pipeline, project, ready_at from walk_${nth}`);
  return `
  with recursive ${walks.join(', ')}
  select w.pipeline, 0 as count, max(clock.now - w.ready_at) as oldest_ms
    from (${each.join(' union all ')}) as w
   cross join (select hf_now() as now) as clock
   where w.ready_at <= clock.now
     and (:project::text is null or w.project = :project)
   group by w.pipeline`;
});

const awaitsIn = (project: string) =>
  sql(`
  select u.pipeline, count(*) as count, max(clock.now - u.opened_at) as oldest_ms
    from (select i.execution_id, i.call
            from hf.interaction as i indexed by interaction_open
           where i.status = ${INTERACTION_CODES.open} ${project}
           order by i.project, i.id
           limit ${LIST_ROWS_MAX}) as i
    join hf.await_unit as u on u.execution_id == i.execution_id and u.call = i.call
   cross join (select hf_now() as now) as clock
   group by u.pipeline`);

const deadLettersIn = (from: string) =>
  sql(`
  select d.pipeline, count(*) as count, max(clock.now - d.at) as oldest_ms
    from (select * from hf.dead_letter as d ${from} limit ${LIST_ROWS_MAX}) as d
   cross join (select hf_now() as now) as clock
   where d.redriven_by is null
   group by d.pipeline`);

const AWAITS = awaitsIn('');
const AWAITS_OF_PROJECT = awaitsIn('and i.project = :project');
const DEAD_LETTERS = deadLettersIn('order by d.execution_id desc');
const DEAD_LETTERS_OF_PROJECT = deadLettersIn(
  'indexed by dead_letter_list where d.project == :project order by d.project desc, d.execution_id desc',
);

interface Row {
  readonly pipeline: string;
  readonly count: number;
  readonly oldest_ms: number;
}

function* backlog(query: ReadBacklog): Script<Backlog> {
  const isOfAll = query.project === undefined;
  const awaits = isOfAll ? AWAITS : AWAITS_OF_PROJECT;
  const letters = isOfAll ? DEAD_LETTERS : DEAD_LETTERS_OF_PROJECT;
  const queues = byPipeline(yield* all<Row>(QUEUES, query));
  return {
    queues: queues.map(({ pipeline, oldestMs }) => ({ pipeline, oldestMs })),
    awaits: byPipeline(yield* all<Row>(awaits, query)),
    deadLetters: byPipeline(yield* all<Row>(letters, query)),
  };
}

/** Adds up the releases of a pipeline. */
function byPipeline(rows: readonly Row[]): readonly BacklogEntry[] {
  const found = new Map<PipelineName, BacklogEntry>();
  for (const row of rows) {
    const { pipeline } = parseRoute(row.pipeline);
    const { count, oldestMs } = found.get(pipeline) ?? { count: 0, oldestMs: 0 };
    const oldest = Math.max(oldestMs, row.oldest_ms);
    found.set(pipeline, { pipeline, count: count + row.count, oldestMs: oldest });
  }
  return [...found.values()];
}
