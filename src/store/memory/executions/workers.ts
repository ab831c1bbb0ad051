import type { PipelineName, ProjectName } from '../../../execution/names.ts';
import { isForAnnounced } from '../../../execution/route.ts';
import type { SessionId } from '../../../lease/names.ts';
import { chainState } from '../../../lease/session.ts';
import { refuseAnnouncement, routesOf } from '../../../release/decide/announce.ts';
import type { Announcement, WorkerRecord } from '../../../release/worker.ts';
import type { Announced, ListWorkers } from '../../contract/release-store.ts';
import type { ExecutionState } from './state.ts';

/** RE-9: what does not fit what is registered is refused, and claims nothing. */
export function announce(state: ExecutionState, request: Announcement): Announced {
  const now = state.kernel.now();
  const own = state.kernel.chain(request.session);
  const self = own.at(-1);
  if (self === undefined || chainState(own, now) === 'ended') {
    return { kind: 'refused', why: 'session-not-live' };
  }
  const registered = [...state.releases.all()].filter(
    ({ name, project }) =>
      name === request.release?.name && [undefined, project].includes(request.project),
  );
  const refusal = refuseAnnouncement(registered, request);
  const { release, ...told } = structuredClone(request);
  const before = state.workers.get(request.session)?.record;
  const record = {
    ...told,
    ...(release === undefined || refusal !== undefined ? {} : { release: release.name }),
    owner: self.owner,
    announcedAt: before?.announcedAt ?? now,
    provedAt: now,
  };
  const routes = refusal === undefined ? routesOf(registered, request) : [];
  state.workers.set(request.session, { record, routes: new Set(routes) });
  for (const id of [...state.workers.keys()]) {
    if (state.kernel.chain(id).length === 0) state.workers.delete(id);
  }
  return refusal === undefined ? { kind: 'announced' } : { kind: 'refused', ...refusal };
}

/** Of this worker: what is pinned to its release or asked of it, in the projects that have it. */
export function isAnnounced(
  state: ExecutionState,
  session: SessionId,
  at: { readonly project: ProjectName; readonly route: PipelineName },
): boolean {
  if (!isForAnnounced(at.route)) return true;
  return state.workers.get(session)?.routes.has(`${at.project}\0${at.route}`) === true;
}

function worksFor(
  worker: Pick<WorkerRecord, 'project'>,
  project: ProjectName | undefined,
): boolean {
  return [undefined, project].includes(worker.project) || project === undefined;
}

export function workers(state: ExecutionState, query: ListWorkers): readonly WorkerRecord[] {
  const { project, after = '', limit } = query;
  const now = state.kernel.now();
  return [...state.workers]
    .filter(([id, { record }]) => id > after && worksFor(record, project))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, limit)
    .map(([id, { record }]) => {
      const own = chainState(state.kernel.chain(id), now);
      return { ...record, ended: own === 'ended', overdue: own === 'overdue' || own === 'lapsed' };
    });
}
