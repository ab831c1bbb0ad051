import type { SessionId } from '../../../lease/names.ts';
import { refuseAnnouncement, routesOf } from '../../../release/decide/announce.ts';
import type { Announcement, WorkerRecord } from '../../../release/worker.ts';
import type { Announced, ListWorkers } from '../../contract/release-store.ts';
import { fromAnnouncement, toWorker, type WorkerRow } from '../../release-rows.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';
import { releasesNamed } from './releases.ts';

const SAVE = `
  insert into worker (session_id, announced_at, proved_at, every_ms, room, state, project, release, pipelines)
  values (:session_id, :now, :now, :every_ms, :room, :state, :project, :release, :pipelines)
  on conflict (session_id) do update
     set proved_at = excluded.proved_at,
         every_ms = excluded.every_ms,
         room = excluded.room,
         state = excluded.state,
         project = excluded.project,
         release = excluded.release,
         pipelines = excluded.pipelines`;

const ADD_ROUTE = `
  insert into worker_route (session_id, project, route)
  values (:session, :project, :route)
  on conflict do nothing`;

const DROP_ROUTES = 'delete from worker_route where session_id = :session';

// Those whose sessions are forgotten.
const DROP_OLD = [
  'delete from worker where session_id not in (select id from session)',
  'delete from worker_route where session_id not in (select id from session)',
];

const ROUTES = 'select project, route from worker_route where session_id = :session';

const LIST = `
  select worker.*, session.owner,
         not exists (select 1 from session as own where own.id = worker.session_id)
         or exists (select 1
                      from json_each(session.path) as step
                      left join session as member on member.id = step.value
                     where member.id is null
                        or member.ended_at is not null) as ended,
         coalesce(session.expires_at - session.grace_ms <= :now, 0) as overdue
    from worker
    left join session on session.id = worker.session_id
   where worker.session_id > :after
     and (:project is null or worker.project is null or worker.project = :project)
   order by worker.session_id
   limit :limit`;

/** RE-9: what does not fit what is registered is refused, and claims nothing. */
export function announce(tx: Transaction, request: Announcement): Announced {
  const { session, release, project } = request;
  if (!tx.isOpen(session)) return { kind: 'refused', why: 'session-not-live' };
  const registered =
    release === undefined ? [] : releasesNamed(tx, { name: release.name, project });
  const refusal = refuseAnnouncement(registered, request);
  if (request.state === 'starting') for (const sql of DROP_OLD) tx.run(sql, {});
  tx.run(SAVE, { ...fromAnnouncement(request, refusal === undefined), now: tx.now });
  tx.run(DROP_ROUTES, { session });
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  for (const place of routesOf(registered, request)) {
    const [of = '', route = ''] = place.split('\0');
    tx.run(ADD_ROUTE, { session, project: of, route });
  }
  return { kind: 'announced' };
}

/** Project and route of what this worker may claim of what is pinned. */
export function announcedBy(tx: ReadTransaction, session: SessionId): ReadonlySet<string> {
  const rows = tx.all<{ project: string; route: string }>(ROUTES, { session });
  return new Set(rows.map(({ project, route }) => `${project}\0${route}`));
}

export function workers(tx: ReadTransaction, query: ListWorkers): readonly WorkerRecord[] {
  const { project = null, after = '', limit } = query;
  type Row = WorkerRow & { owner: string | null; ended: number; overdue: number };
  return tx.all<Row>(LIST, { project, after, limit, now: tx.now }).map(toWorker);
}
