// Saved views (P-19). A change and its audit record are one transaction.

import type { PutWithinQuota } from '../../../features/access/model.ts';
import type { PutView, RemoveView, SavedView, ViewStore } from '../../../features/views/port.ts';
import { type Instant, toInstant } from '../../../support/clock.ts';
import { writeAudit } from '../audit.ts';
import { all, every, one, type PlainGateway, type Script, sql } from '../script.ts';
import { inTurnOf, withLimit } from './projects.ts';

const COLUMNS = 'id, name, page, query, saved_at, saved_by';

const IN_TURN = inTurnOf('views');

const USED = '(select count(*) from hf.saved_view as u where u.project = :project)';

const INSERT = withLimit(
  'views',
  (limit) => `
  insert into hf.saved_view (project, ${COLUMNS})
  select :project::text, :id::text, :name::text, :page::text, :query::text, hf_now(), :savedBy::text
   where (:quota::bigint is null or ${USED} < ${limit}) -- guard: quota
      on conflict (project, id) do nothing
  returning ${COLUMNS}`,
);

const ROOM = withLimit('views', (limit) => `select ${limit} as quota`);

const REPLACE = sql(`
  update hf.saved_view
     set name     = :name,
         page     = :page,
         query    = :query,
         saved_at = hf_now(),
         saved_by = :savedBy
   where project = :project
     and id = :id
     and (name <> :name or page <> :page or query <> :query) -- guard: content
  returning ${COLUMNS}`);

const READ = sql(`
  select ${COLUMNS}
    from hf.saved_view
   where project = :project
     and id = :id`);

const LIST = sql(`
  select ${COLUMNS}
    from hf.saved_view
   where project = :project
     and id > :after
     and (:page::text is null or page = :page)
   order by id
   limit :limit`);

const REMOVE = sql(`
  delete from hf.saved_view
   where project = :project
     and id = :id
  returning ${COLUMNS}, hf_now() as now`);

export function viewsOf({ read, write }: PlainGateway): ViewStore {
  return {
    putView: (request) => write(() => putView({ ...request })),
    views: (query) => read(() => every(LIST, { after: '', ...query }, toView)),
    removeView: (request) => write(() => removeView({ ...request })),
  };
}

function* putView(request: PutView): Script<PutWithinQuota> {
  const { project } = request;
  yield* all(IN_TURN, request);
  const inserted = yield* one<ViewRow>(INSERT, request);
  const before = inserted === undefined ? yield* one<ViewRow>(READ, request) : undefined;
  const left = inserted ?? (yield* one<ViewRow>(REPLACE, request));
  if (left === undefined && before === undefined) {
    const limit = (yield* one<{ quota: number }>(ROOM, request))?.quota ?? 0;
    return { kind: 'refused', why: 'over-quota', project, quota: 'views', limit };
  }
  if (left !== undefined) yield* audited(request, { before, left, at: toInstant(left.saved_at) });
  return { kind: 'put', changed: left !== undefined };
}

function* removeView(request: RemoveView): Script<{ readonly kind: 'done' | 'no-change' }> {
  yield* all(IN_TURN, request);
  const before = yield* one<ViewRow & { readonly now: number }>(REMOVE, request);
  if (before === undefined) return { kind: 'no-change' };
  yield* audited(request, { before, at: toInstant(before.now) });
  return { kind: 'done' };
}

interface ViewChange {
  readonly before?: ViewRow | undefined;
  readonly left?: ViewRow;
  readonly at: Instant;
}

function* audited(request: RemoveView, { before, left, at }: ViewChange): Script<void> {
  const { project, id } = request;
  const facts = ({ name, page, query }: ViewRow) => ({ name, page, query });
  const changed = {
    ...{ project, target: { kind: 'view', id } as const },
    ...(before === undefined ? {} : { before: facts(before) }),
    ...(left === undefined ? {} : { after: facts(left) }),
  };
  yield* writeAudit(request, changed, at);
}

interface ViewRow {
  readonly id: string;
  readonly name: string;
  readonly page: string;
  readonly query: string;
  readonly saved_at: number;
  readonly saved_by: string | null;
}

function toView({ id, name, page, query, saved_at, saved_by }: ViewRow): SavedView {
  return {
    ...{ id, name, page, query, savedAt: toInstant(saved_at) },
    ...(saved_by === null ? {} : { savedBy: saved_by }),
  };
}
