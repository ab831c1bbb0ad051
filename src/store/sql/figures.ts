// Counts what a project has now (X-91). Each count stops at a maximum, so the cost is bounded by the
// number of pipelines.

import type { Status } from '../../execution/execution.ts';
import { type ExecutionId, OWN_PREFIX, type PipelineName } from '../../execution/names.ts';
import { parseRoute } from '../../execution/route.ts';
import { INTERACTION_CODES } from '../../features/awaits/rows.ts';
import {
  COUNT_MAX,
  type Count,
  countUpTo,
  type FailureCause,
  type Figures,
  type OpenQuestions,
  type PipelineCounts,
  stepFamily,
} from '../../features/overview/model.ts';
import type { OverviewStore, ReadFigures } from '../../features/overview/port.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import { codesWith, STATUS_CODES, toStatus } from '../execution-rows.ts';
import { IS_READY, routesUpTo } from './census.ts';
import { FIRST_ID, LAST_ID } from './newest-first.ts';
import { all, dialects, type Gateway, one, type Script, sql, sqlPerDialect } from './script.ts';

/** One more than the maximum shows that there are more. */
const ROWS = COUNT_MAX + 1;

/** The most routes that one reply has: pipelines, and their releases. */
const ROUTES_MAX = 1_000;

const OWN = `'${OWN_PREFIX}'`;
const IN_PROJECT = 'e.project collate "POSIX" = :project';
const ROUTE = 'e.pipeline collate "POSIX"';

const ROUTES = sqlPerDialect(
  routesUpTo(ROUTES_MAX + 1),
  (routes) => `
  with recursive ${routes}
  select name from route where name is not null and substr(name, 1, ${OWN_PREFIX.length}) <> ${OWN}`,
);

// SQLite's index of pipelines has no status, so it counts all executions of a pipeline. Completed
// ones are the rest.
const SQLITE_TOTAL_MAX = 6 * COUNT_MAX;

/** The rows that all routes together count in one statement, so that many routes cost no more. */
const ROUTES_ROWS_MAX = 20 * COUNT_MAX;

const statusCodes = Object.values(STATUS_CODES).filter((code) => code !== STATUS_CODES.running);

const BY_ROUTE = dialects({
  sqlite: `
  select r.value as route, null as status,
         (select count(*)
            from (select 1
                    from execution as e indexed by execution_pipeline
                   where e.project = :project and e.pipeline = r.value
                   limit :total)) as count
    from json_each(:routes) as r`,
  postgres: `
  select r.route, s.status, c.count
    from jsonb_array_elements_text(:routes::jsonb) as r(route)
   cross join (values ${statusCodes.map((code) => `(${code}::smallint)`).join(', ')}) as s(status)
   cross join lateral (
           select count(*) as count
             from (select 1
                     from hf.execution e
                    where ${IN_PROJECT}
                      and ${ROUTE} = r.route collate "POSIX"
                      and e.status between s.status and s.status
                      and e.status <> 1
                    limit :each::bigint) as x) as c
   where c.count > 0`,
});

const RUNNING = `
  select e.pipeline, e.status
    from hf.execution as e indexed by execution_carrier
   where e.status = 1 and e.project >= '' and e.project = :project
   limit ${ROWS}`;

// SQLite finds open executions and bad ends by indexes without the pipeline.
const SQLITE_OPEN = `
  select e.pipeline, e.status
    from execution as e indexed by execution_open
   where e.project = :project and e.ended_at is null
   limit ${2 * ROWS}`;
const SQLITE_BAD = [11, 12, 13, 14].map(
  (code) => `
  select * from (
  select e.pipeline, e.status
    from execution as e indexed by execution_status
   where e.project = :project and e.status = ${code} and (e.status = 2 or e.status > 10)
   limit ${ROWS})`,
);

const BY_STATUS = dialects({
  sqlite: `
  select pipeline as route, status, count(*) as count
    from (select * from (${SQLITE_OPEN}) union all ${SQLITE_BAD.join(' union all ')})
   group by pipeline, status`,
  postgres: `
  select pipeline as route, status, count(*) as count
    from (${RUNNING}) as e
   group by pipeline, status`,
});

const DUE = (has: string): string =>
  `from hf.execution as e indexed by execution_ready
            where ${has}
              and e.pipeline = r.route
              and e.lane = l.lane
              and e.project = :project
              and e.ready_at <= hf_now()`;

const READY = sqlPerDialect(
  {
    sqlite: { routes: 'select value as route from json_each(:routes)', has: IS_READY.sqlite },
    postgres: {
      routes: 'select jsonb_array_elements_text(:routes::jsonb) as route',
      has: IS_READY.postgres,
    },
  },
  ({ routes, has }) =>
    has
      .map(
        (each) => `
  select r.route,
         (select count(*) from (select 1 ${DUE(each)} limit :each::bigint) as x) as count,
         (select e.ready_at ${DUE(each)} order by e.ready_at limit 1) as oldest
    from (${routes}) as r
   cross join (select 0 as lane union all select 1) as l`,
      )
      .join('\n union all\n'),
);

// One range for each stored value of the hold. An order keeps PostgreSQL on the index of holds.
const HELD = '(e.project collate "POSIX", e.hold, e.id)';
const BLOCKED = sql(`
  select route, count(*) as count
    from (${codesWith('blocked')
      .map(
        (code) => `
          select * from (
          select e.pipeline as route
            from hf.execution as e indexed by execution_held
           where e.hold <> 0
             and ${HELD} >= (:project, ${code}, ${FIRST_ID})
             and ${HELD} < (:project, ${code}, ${LAST_ID})
           order by e.project collate "POSIX" desc, e.hold desc, e.id desc
           limit ${ROWS}) as of_${code}`,
      )
      .join(' union all ')}
           limit ${ROWS}) as blocked
   group by route`);

const HOUR_MS = 3_600_000;

const CAUSES = sql(`
  select pipeline, code, step, count(*) as count, min(at) as first_at, max(at) as last_at, max(execution_id::text) as newest,
         count(case when status = ${STATUS_CODES.quarantined} then 1 end) as quarantined,
         count(case when at > hf_now() - ${HOUR_MS} then 1 end) as last_hour
    from (select d.pipeline, d.code, d.step, d.status, d.at, d.execution_id
            from hf.dead_letter as d indexed by dead_letter_open
           where d.redriven_by is null
             and (d.project collate "POSIX", d.execution_id) >= (:project, ${FIRST_ID})
             and (d.project collate "POSIX", d.execution_id) < (:project, ${LAST_ID})
           order by d.project collate "POSIX" desc, d.execution_id desc
           limit ${ROWS}) as newest
   group by pipeline, code, step`);

const CAUSES_MAX = 100;

const MESSAGES = sql(
  'select execution_id as id, reason from hf.dead_letter where execution_id = any (:ids::uuid[])',
);

const QUESTIONS = sql(`
  select count(d.call) as open, count(case when d.due_at <= clock.now then 1 end) as overdue,
         min(case when d.due_at > clock.now then d.due_at end) as next_due, clock.now
    from (select hf_now() as now) as clock
    left join (select u.call, u.due_at
            from (select i.execution_id, i.call
                    from hf.interaction as i indexed by interaction_open
                   where i.project = :project
                     and i.status = ${INTERACTION_CODES.open}
                   limit ${ROWS}) as q
            join hf.await_unit as u on u.execution_id == q.execution_id and u.call == q.call) as d on true
   group by clock.now`);

export function figuresOf({ read }: Gateway): Pick<OverviewStore, 'figures'> {
  return { figures: (query) => read(() => figures(query)) };
}

function* figures(query: ReadFigures): Script<Figures> {
  const { now, ...questions } = yield* openQuestions(query);
  return {
    at: now,
    pipelines: yield* pipelineCounts(query),
    deadLetters: yield* openDeadLetters(query),
    questions,
  };
}

type StatusCounts = Partial<Record<Status, Count>>;
type RouteCount = { readonly route: string; readonly count: number };
type CountRow = RouteCount & { readonly status: number };

function* pipelineCounts(query: ReadFigures): Script<readonly PipelineCounts[]> {
  const found = yield* all<{ readonly name: string }>(ROUTES, query);
  const routes = JSON.stringify(found.map(({ name }) => name));
  const part = Math.ceil(ROUTES_ROWS_MAX / Math.max(1, found.length));
  const limits = { total: Math.min(SQLITE_TOTAL_MAX, part), each: Math.min(ROWS, part) };
  const byStatus = yield* all<CountRow>(BY_STATUS, query);
  const byRoute = yield* all<CountRow>(BY_ROUTE, { ...query, routes, ...limits });
  const ready = yield* all<ReadyRow>(READY, { ...query, routes, ...limits });
  const blocked = yield* all<RouteCount>(BLOCKED, query);
  const isCut = blocked.reduce((sum, { count }) => sum + count, 0) >= ROWS;
  const blockedByRoute = new Map(blocked.map(({ route, count }) => [route, countUpTo(count)]));
  const statuses = statusesOf({ routes: found, byStatus, byRoute }, limits);
  const readyByRoute = Map.groupBy(ready, ({ route }) => route);
  return [...statuses].sort(byName).map(([route, counts]) => {
    const held = blockedByRoute.get(route);
    return {
      ...parseRoute(route),
      statuses: counts,
      ...readyOf(readyByRoute.get(route) ?? [], limits),
      ...(held && { blocked: { ...held, capped: isCut } }),
    };
  });
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** The most rows that the store counted of one route, in all and of each status. */
interface RouteLimits {
  readonly total: number;
  readonly each: number;
}

interface CountRows {
  readonly routes: readonly { readonly name: string }[];
  readonly byStatus: readonly CountRow[];
  readonly byRoute: readonly CountRow[];
}

const OPEN: readonly number[] = Object.values(STATUS_CODES).filter(
  (code) => code < STATUS_CODES.completed,
);

/** Routes share the limit of a status. When their sum reaches it, each may have more. */
function statusesOf(
  { routes, byStatus, byRoute }: CountRows,
  { total, each }: RouteLimits,
): ReadonlyMap<string, StatusCounts> {
  const counts = new Map<string, StatusCounts>();
  const note = (route: string, status: Status, count: Count): void => {
    if (route.startsWith(OWN_PREFIX) || (count.count === 0 && !count.capped)) return;
    counts.set(route, { ...counts.get(route), [status]: count });
  };
  const sumOf = (rows: readonly CountRow[]): number =>
    rows.reduce((sum, { count }) => sum + count, 0);
  const isOpenCut = sumOf(byStatus.filter(({ status }) => OPEN.includes(status))) >= 2 * ROWS;
  const cut = Object.values(STATUS_CODES)
    .filter((code) => code >= STATUS_CODES.completed || code === STATUS_CODES.running)
    .filter((code) => sumOf(byStatus.filter(({ status }) => status === code)) >= ROWS)
    .concat(isOpenCut ? OPEN : []);
  for (const { name } of routes) {
    for (const code of cut) note(name, toStatus(code), { count: 0, capped: true });
  }
  for (const { route, status, count } of byStatus) {
    const exact = countUpTo(count);
    note(route, toStatus(status), { ...exact, capped: exact.capped || cut.includes(status) });
  }
  const counted = Map.groupBy(byStatus, ({ route }) => route);
  for (const { route, status, count } of byRoute) {
    if (status !== null) note(route, toStatus(status), countUpTo(count, each - 1));
    else if (cut.length > 0) note(route, 'completed', { count: 0, capped: true });
    else {
      const isMore = count >= total;
      const others = sumOf(counted.get(route) ?? []) + (isMore ? 1 : 0);
      const rest = countUpTo(Math.max(0, count - others));
      note(route, 'completed', { ...rest, capped: rest.capped || isMore });
    }
  }
  return counts;
}

type ReadyRow = { readonly route: string; readonly count: number; readonly oldest: number | null };

function readyOf(
  rows: readonly ReadyRow[],
  { each }: RouteLimits,
): Pick<PipelineCounts, 'ready' | 'oldestReadyAt'> {
  const oldest = rows.flatMap((row) => row.oldest ?? []);
  return {
    ready: countUpTo(
      rows.reduce((sum, { count }) => sum + count, 0),
      each - 1,
    ),
    ...(oldest.length > 0 && { oldestReadyAt: toInstant(Math.min(...oldest)) }),
  };
}

type CauseRow = {
  readonly pipeline: PipelineName;
  readonly code: string;
  readonly step: string | null;
  readonly count: number;
  readonly first_at: Instant;
  readonly last_at: Instant;
  readonly newest: ExecutionId;
  readonly quarantined: number;
  readonly last_hour: number;
};

function* openDeadLetters(query: ReadFigures): Script<Figures['deadLetters']> {
  const rows = yield* all<CauseRow>(CAUSES, query);
  const groups = Map.groupBy(rows, ({ pipeline, code, step }) =>
    JSON.stringify([pipeline, code, step === null ? null : stepFamily(step)]),
  );
  const merged = [...groups.values()].map(mergedCause).sort((a, b) => b.count - a.count);
  const most = merged.slice(0, CAUSES_MAX);
  const ids = most.map(({ newest }) => newest);
  const texts =
    ids.length === 0 ? [] : yield* all<{ id: string; reason: string }>(MESSAGES, { ids });
  const messages = new Map(texts.map(({ id, reason }) => [id, reason]));
  const causes = most.map((each) => ({ ...each, message: messages.get(each.newest) ?? '' }));
  const sumOf = (name: 'count' | 'quarantined' | 'last_hour'): number =>
    rows.reduce((sum, row) => sum + row[name], 0);
  const total = countUpTo(sumOf('count'));
  const part = (count: number): Count => ({ count, capped: total.capped });
  return {
    ...total,
    quarantined: part(sumOf('quarantined')),
    lastHour: part(sumOf('last_hour')),
    causes,
  };
}

function mergedCause(rows: readonly CauseRow[]): Omit<FailureCause, 'message'> {
  const [{ pipeline, code, step }] = rows as [CauseRow];
  const newest = rows.map((row) => row.newest).reduce((a, b) => (a > b ? a : b));
  return {
    ...{ pipeline, code, newest },
    ...(step === null ? {} : { step: stepFamily(step) }),
    count: rows.reduce((sum, row) => sum + row.count, 0),
    lastHour: rows.reduce((sum, row) => sum + row.last_hour, 0),
    firstAt: toInstant(Math.min(...rows.map((row) => row.first_at))),
    lastAt: toInstant(Math.max(...rows.map((row) => row.last_at))),
  };
}

type QuestionsRow = {
  readonly open: number;
  readonly overdue: number;
  readonly next_due: Instant | null;
  readonly now: Instant;
};

function* openQuestions(query: ReadFigures): Script<OpenQuestions & { readonly now: Instant }> {
  const { open, overdue, next_due, now } = (yield* one<QuestionsRow>(
    QUESTIONS,
    query,
  )) as QuestionsRow;
  const capped = open > COUNT_MAX;
  return {
    open: countUpTo(open),
    overdue: { count: overdue, capped },
    ...(next_due === null ? {} : { nextDueAt: toInstant(next_due) }),
    now,
  };
}
