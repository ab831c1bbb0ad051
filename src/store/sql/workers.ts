// Stores the announcements of workers (RE-9, RE-11).

import type { ProjectName } from '../../execution/names.ts';
import { refuseAnnouncement, workerRoutes } from '../../features/releases/decide.ts';
import type { Announcement } from '../../features/releases/model.ts';
import type { Announced, OfPipeline, ReleaseStore } from '../../features/releases/port.ts';
import { fromAnnouncement, toWorker, type WorkerRow } from '../../features/releases/rows.ts';
import type { SessionId } from '../../lease/names.ts';
import { both } from './leases/views.ts';
import { releasesNamed } from './releases.ts';
import {
  all,
  dialects,
  every,
  type Gateway,
  one,
  type Script,
  type Sql,
  sql,
  wrote,
} from './script.ts';

/** A worker may have thousands of routes, so a call deletes few. */
const OLD_MAX = 10;
const OLD_CHECKED = 100;

/** True when session `s` or one of its ancestors has ended or no longer exists. */
const ENDED = {
  sqlite:
    'exists (select 1 from json_each(s.path) as p left join session as a on a.id = p.value where a.id is null or a.ended_at is not null)',
  postgres:
    'exists (select from unnest(s.path) as p(id) left join hf.session a on a.id == p.id where a.id is null or a.ended_at is not null)',
};

function withEnded(text: (ended: string) => string): Sql {
  return dialects({ sqlite: text(ENDED.sqlite), postgres: text(ENDED.postgres) });
}

const SAVE = withEnded(
  (ended) => `
  insert into hf.worker (session_id, announced_at, proved_at, every_ms, room, state, project, release, pipelines)
  select s.id, clock.now, clock.now, :every_ms::integer, :room::integer, :state::text, :project::text, :release::text, :pipelines::text
    from hf.session as s, (select hf_now() as now) as clock
   where s.id = :session_id
     and not ${ended} -- guard: alive
      on conflict (session_id) do update
     set proved_at = excluded.proved_at,
         every_ms  = excluded.every_ms,
         room      = excluded.room,
         state     = excluded.state,
         project   = excluded.project,
         release   = excluded.release,
         pipelines = excluded.pipelines
  returning session_id`,
);

/** Reads the parameter as pairs of project and route. */
const ROUTES = {
  sqlite: '(select value ->> 0 as project, value ->> 1 as route from json_each(:routes))',
  postgres:
    '(select value ->> 0 as project, value ->> 1 as route from jsonb_array_elements(:routes::jsonb))',
};

function withRoutes(text: (routes: string) => string): Sql {
  return dialects({ sqlite: text(ROUTES.sqlite), postgres: text(ROUTES.postgres) });
}

const ADD_ROUTES = withRoutes(
  (routes) => `
  insert into hf.worker_route (session_id, project, route)
  select :session_id::uuid, u.project, u.route
    from ${routes} as u
   where true
      on conflict do nothing`,
);

// A worker announces the same routes once per period, so rows that it announces again stay as they
// are.
const DROP_ROUTES = withRoutes(
  (routes) => `
  delete from hf.worker_route
   where session_id = :session_id
     and not exists (select 1 from ${routes} as u where u.project = worker_route.project and u.route = worker_route.route)`,
);

// Announcements whose sessions no longer exist. It looks at a page from the start and at one that
// follows the session, whose id is random, so that each call does bounded work.
const OLD = sql(`
  select w.session_id
    from (select *
            from (select session_id from hf.worker where session_id > :session_id order by session_id limit ${OLD_CHECKED}) as near
           union
          select *
            from (select session_id from hf.worker where session_id > '00000000-0000-0000-0000-000000000000'::uuid order by session_id limit ${OLD_CHECKED}) as first) as w
   where not exists (select 1 from hf.session as s where s.id = w.session_id)
   limit ${OLD_MAX}`);

const DROP_OLD = ['worker', 'worker_route', 'worker_input'].map((table) =>
  sql(`
  delete from hf.${table}
   where session_id = any (:ids::uuid[])`),
);

const DROP_INPUTS = sql('delete from hf.worker_input where session_id = :session_id');

const ADD_INPUTS = sql(`
  insert into hf.worker_input (session_id, pipeline, schema)
  select :session_id::uuid, n.pipeline, n.schema
    from jsonb_to_recordset(:inputs::jsonb) as n(pipeline text, schema text)`);

const INPUT = sql(`
  select i.schema
    from hf.worker_input as i
   where i.pipeline = :pipeline
     and i.session_id = (
           select o.session_id
             from hf.worker_input as o
             join hf.worker as w on w.session_id = o.session_id
            where o.pipeline = :pipeline
              and (w.project is null or w.project = :project)
            order by w.announced_at desc, w.session_id desc
            limit 1)`);

const LIST = withEnded(
  (ended) => `
  select w.*, s.owner, s.id is null or ${ended} as ended,
         coalesce(s.expires_at - s.grace_ms <= hf_now(), false) as overdue
    from hf.worker as w
    left join hf.session as s on s.id = w.session_id
   where w.session_id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
     and (:project::text is null or w.project is null or w.project = :project)
   order by w.session_id
   limit :limit`,
);

export function workersOf({ read, repeat }: Gateway) {
  return {
    announce: (request) => repeat(() => announce(request)),
    announcedInput: (query) => read(() => announcedInput(query)),
    workers: (query) => read(() => every(LIST, query, toWorker)),
  } satisfies Partial<ReleaseStore>;
}

/** A worker that does not match the registered releases is refused and claims nothing (RE-9). */
function* announce(request: Announcement): Script<Announced> {
  const { release, project } = request;
  const registered =
    release === undefined ? [] : yield* releasesNamed({ name: release.name, project });
  const refusal = refuseAnnouncement(registered, request);
  const row = fromAnnouncement(request, refusal === undefined);
  if (!(yield* wrote(SAVE, row))) return { kind: 'refused', why: 'session-not-live' };
  if (request.state === 'starting') yield* dropOld(row);
  if (request.inputs !== undefined) yield* saveInputs(row, request.inputs);
  const places = refusal === undefined ? workerRoutes(registered, request) : [];
  const routes = JSON.stringify(places.map((place) => place.split('\0')));
  yield* all(DROP_ROUTES, { ...row, routes });
  yield* all(ADD_ROUTES, { ...row, routes });
  return refusal === undefined ? { kind: 'announced' } : { kind: 'refused', ...refusal };
}

function* saveInputs(
  { session_id }: Pick<WorkerRow, 'session_id'>,
  given: NonNullable<Announcement['inputs']>,
): Script<void> {
  const rows = Object.entries(given).map(([pipeline, schema]) => ({
    ...{ pipeline, schema: JSON.stringify(schema) },
  }));
  yield* all(DROP_INPUTS, { session_id });
  yield* all(ADD_INPUTS, { session_id, inputs: JSON.stringify(rows) });
}

function* announcedInput(query: OfPipeline): Script<string | undefined> {
  return (yield* one<{ readonly schema: string }>(INPUT, query))?.schema;
}

function* dropOld({ session_id }: Pick<WorkerRow, 'session_id'>): Script<void> {
  const old = yield* all<Pick<WorkerRow, 'session_id'>>(OLD, { session_id });
  if (old.length === 0) return;
  const ids = old.map((each) => each.session_id);
  for (const each of DROP_OLD) yield* all(each, { ids });
}

// Only live sessions are read. Each worker has one, so there are few.
const SESSIONS = sql(`
  select s.id
    from hf.session as s
   where s.ended_at is null
     and (s.owner = :worker or s.id::text = :worker)`);

/** The live sessions with this owner or id. */
export function* liveSessionsOf(worker: string): Script<readonly SessionId[]> {
  return (yield* all<{ readonly id: SessionId }>(SESSIONS, { worker })).map(({ id }) => id);
}

// Steps from one running session to the next in `execution_carrier`, so the cost is that of the
// sessions, not of the executions. A session is alive if it and its ancestors are (H-1).
const STALE_OWNERS = both(
  ({ steps }) => `
  with recursive carrier(id) as (
    select (select e.session_id
              from hf.execution as e indexed by execution_carrier
             where e.status = 1 and e.project >= '' and e.project = :project
             order by e.session_id
             limit 1)
     union all
    select (select e.session_id
              from hf.execution as e indexed by execution_carrier
             where e.status = 1 and e.project >= '' and e.project = :project and e.session_id > c.id
             order by e.session_id
             limit 1)
      from carrier as c
     where c.id is not null)
  select c.id
    from carrier as c
   where c.id is not null
     and not exists (
           select 1
             from hf.session as s
            where s.id = c.id
              and not exists (
                    select 1
                      from ${steps('s.path')}
                      join hf.session as a on a.id = step.value
                     where a.ended_at is not null or a.expires_at - a.grace_ms <= hf_now()))`,
);

/** The sessions that run executions of the project and have no authority now. */
export function* staleOwnersIn(project: ProjectName): Script<readonly SessionId[]> {
  return (yield* all<{ readonly id: SessionId }>(STALE_OWNERS, { project })).map(({ id }) => id);
}
