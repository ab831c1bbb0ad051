import { refuseAnnouncement, routesOf } from '../../../release/decide/announce.ts';
import type { Announcement, WorkerRecord } from '../../../release/worker.ts';
import type { Announced, ListWorkers } from '../../contract/release-store.ts';
import { fromAnnouncement, toWorker, type WorkerRow } from '../../release-rows.ts';
import { persistently } from '../committer.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { texts } from './arrays.ts';
import type { Parts } from './parts.ts';
import { releasesNamed } from './releases.ts';

/** Of session `s`: itself or one above it has ended, or is not known any more. */
const ENDED = `exists (select from unnest(s.path) as p(id) left join hf.session a on ${lookUp('a.id', 'p.id')} where a.id is null or a.ended_at is not null)`;

const SAVE = statement(`
  insert into hf.worker as w (session_id, announced_at, proved_at, every_ms, room, state, project, release, pipelines)
  select s.id, clock.now, clock.now, $2, $3, $4, $5, $6, $7
    from hf.session s, (select hf_now() as now) clock
   where s.id = $1
     and not ${ENDED} -- guard: alive
      on conflict (session_id) do update
     set proved_at = excluded.proved_at,
         every_ms  = excluded.every_ms,
         room      = excluded.room,
         state     = excluded.state,
         project   = excluded.project,
         release   = excluded.release,
         pipelines = excluded.pipelines
  returning w.session_id`);

const ADD_ROUTES = statement(`
  insert into hf.worker_route (session_id, project, route)
  select $1, u.project, u.route
    from unnest($2::text[], $3::text[]) as u(project, route)
      on conflict do nothing`);

// Those it has again stay: it says the same once in each period.
const DROP_ROUTES = statement(`
  delete from hf.worker_route r
   where r.session_id = $1
     and not exists (select from unnest($2::text[], $3::text[]) as u(project, route) where u.project = r.project and u.route = r.route)`);

// Those whose sessions are forgotten.
const DROP_OLD = [
  statement(
    'delete from hf.worker w where not exists (select from hf.session s where s.id = w.session_id)',
  ),
  statement(
    'delete from hf.worker_route w where not exists (select from hf.session s where s.id = w.session_id)',
  ),
];

const LIST = statement(`
  select w.*, s.owner, s.id is null or ${ENDED} as ended,
         coalesce(s.expires_at - s.grace_ms <= hf_now(), false) as overdue
    from hf.worker w
    left join hf.session s on s.id = w.session_id
   where ($1::uuid is null or w.session_id > $1)
     and ($2::text is null or w.project is null or w.project = $2)
   order by w.session_id
   limit $3`);

/** RE-9: what does not fit what is registered is refused, and claims nothing. */
export function announce(parts: Parts, request: Announcement): Promise<Announced> {
  return persistently(parts.surroundings, () =>
    parts.database.attempt((queries) => note(queries, request), parts.boundaries),
  );
}

async function note(queries: Queries, request: Announcement): Promise<Attempted<Announced>> {
  const { session, release, project } = request;
  const registered =
    release === undefined ? [] : await releasesNamed(queries, { name: release.name, project });
  const refusal = refuseAnnouncement(registered, request);
  if (request.state === 'starting') for (const each of DROP_OLD) await queries.rows(each, []);
  const row = fromAnnouncement(request, refusal === undefined);
  const told = [row.every_ms, row.room, row.state, row.project, row.release, row.pipelines];
  const saved = await queries.rows(SAVE, [session, ...told]);
  if (saved.length === 0) {
    return { keep: false, result: { kind: 'refused', why: 'session-not-live' } };
  }
  const own = refusal === undefined ? routesOf(registered, request) : [];
  const routes = own.map((place) => place.split('\0'));
  const [projects, names] = [0, 1].map((at) => texts(routes.map((route) => route[at] ?? '')));
  await queries.rows(DROP_ROUTES, [session, projects, names]);
  if (routes.length > 0) await queries.rows(ADD_ROUTES, [session, projects, names]);
  if (refusal !== undefined) return { keep: true, result: { kind: 'refused', ...refusal } };
  return { keep: true, result: { kind: 'announced' } };
}

export async function workers(
  queries: Queries,
  { project, after, limit }: ListWorkers,
): Promise<readonly WorkerRecord[]> {
  type Row = WorkerRow & { owner: string | null; ended: boolean; overdue: boolean };
  const values = [after ?? null, project ?? null, limit];
  return (await queries.rows<Row & object>(LIST, values)).map(toWorker);
}
