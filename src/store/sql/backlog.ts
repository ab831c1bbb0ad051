// Returns the queues, questions and dead letters that wait, by pipeline (X-94).

import type { PipelineName } from '../../execution/names.ts';
import { parseRoute } from '../../execution/route.ts';
import { INTERACTION_CODES } from '../../features/awaits/rows.ts';
import type { Backlog, BacklogEntry, CensusStore, ReadBacklog } from '../contract/census-store.ts';
import { LIST_ROWS_MAX } from '../contract/execution-store.ts';
import { READY } from './census.ts';
import { all, type Dialects, type Gateway, type Script, sql, sqlPerDialect } from './script.ts';

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
  sqlite: { conditions: READY.sqlite, isFound: (found) => `f.id = ${found}` },
  postgres: {
    conditions: READY.postgres,
    isFound: (found) => `f.id = any (array[${found}])`,
  },
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

export function backlogOf({ read }: Gateway): Pick<CensusStore, 'backlog'> {
  return { backlog: (query = {}) => read(() => backlog(query)) };
}

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
