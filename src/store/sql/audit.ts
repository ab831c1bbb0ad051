// The audit log: which actor did what (J-1 … J-9).

import type { AuditId } from '../../execution/names.ts';
import {
  auditOf,
  type Changed,
  changedByOperation,
  noteRecord,
} from '../../features/audit/decide.ts';
import type { Audited, AuditRecord } from '../../features/audit/model.ts';
import type {
  AuditStore,
  ListAudit,
  Note,
  NoteResult,
  RecordOperation,
} from '../../features/audit/port.ts';
import { fromAudit, storedAction, toAudit } from '../../features/audit/rows.ts';
import type { Instant } from '../../support/clock.ts';
import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import {
  countGiven,
  edgeOf,
  FIRST_ID,
  ifGiven,
  LAST_ID,
  type Lists,
  newestFirst,
} from './newest-first.ts';
import { all, every, type Gateway, one, type Script, sql, sqlPerDialect, wrote } from './script.ts';

const COLUMNS = 'id, at, project, actor, act, target_kind, target_id, reason, was, became';

// The first record of an id stays (J-3). Without a time, the record gets the current one.
const WRITE = sql(`
  insert into hf.audit (${COLUMNS})
  values (:id, coalesce(:at, hf_now()), :project, :actor, :act, :target_kind, :target_id, :reason, :was, :became)
      on conflict (id) do nothing`);

const NOTE = sql(`
  insert into hf.audit (${COLUMNS})
  select :id::uuid, hf_now(), e.project, :actor::text, :act::text, :target_kind::text, :target_id::text, :reason::text, null, null
    from hf.execution as e
   where e.id = :target_id::uuid
     and e.project = :project -- guard: project
      on conflict (id) do nothing
  returning id`);

const IS_KNOWN = sql(`
  select e.id
    from hf.execution as e
   where e.id = :target_id::uuid
     and e.project = :project -- guard: known`);

const FILTERS = [
  ifGiven('target_kind', ':kind'),
  ifGiven('target_id', ':target'),
  ifGiven('actor', ':actor'),
  ifGiven('act', ':act'),
];

function listBy(index: string, lead: Readonly<Record<string, string>>): Lists {
  const list = { select: COLUMNS, table: 'audit', id: 'id', index, lead };
  return newestFirst({ ...list, filters: FILTERS });
}

/**
 * The questions of one execution are few. `coalesce` and the cast leave PostgreSQL only the index of
 * targets.
 */
const OF_EXECUTION = sqlPerDialect(
  {
    sqlite: ['in (', ')', 'project = :project'],
    postgres: ['= any (array(', '))', 'coalesce(project = :project, false)'],
  },
  ([open, close, isOfProject]) => `
  select ${COLUMNS}
    from hf.audit indexed by audit_target
   where ${isOfProject}
     and target_kind in ('execution', 'interaction')
     and target_id ${open}
         select :execution::text
          union all
         select q.id
           from (select i.id from hf.interaction as i where i.execution_id = :execution::uuid limit ${LIST_ROWS_MAX}) as q${close}
     and coalesce(id >= coalesce(:downTo, ${FIRST_ID}) and id < coalesce(:before, ${LAST_ID}), false)
     and ${FILTERS.join('\n     and ')}
   order by id::text desc
   limit :limit`,
);

const project = ':project';
const BY_PROJECT = listBy('audit_list', { project });
const BY_TARGET = listBy('audit_target', { target_id: ':target', target_kind: ':kind', project });
const BY_ACTOR = listBy('audit_actor', { actor: ':actor', project });
const BY_ACTION = listBy('audit_act', { act: ':act', project });

export function auditsOf({
  read,
  repeat,
}: Gateway): Pick<AuditStore, 'audit' | 'auditEdge' | 'note' | 'recordOperation'> {
  return {
    audit: (query) => read(() => listAudit(query)),
    auditEdge: (query) => read(() => auditEdge(query)),
    note: (request) => repeat(() => note(request)),
    recordOperation: (request) => repeat(() => recordOperation(request)),
  };
}

/** Runs in the transaction of the operation that it records (J-1). */
export function* writeAudit(
  request: Audited,
  changed: Changed | undefined,
  at: Instant,
): Script<void> {
  const record = auditOf(request, changed, at);
  if (record !== undefined) yield* all(WRITE, fromAudit(record));
}

/** Records an operation that shares no transaction with the audit (J-9). */
function* recordOperation(request: RecordOperation): Script<void> {
  const record = auditOf(request, changedByOperation(request), 0 as Instant);
  if (record !== undefined) yield* all(WRITE, { ...fromAudit(record), at: null });
}

/** Adds a person's note to an execution (J-5). A repeated call finds its own record. */
function* note({ id, project, audit }: Note): Script<NoteResult> {
  const row = fromAudit(noteRecord(audit, { id, project }, 0 as Instant));
  const isNoted = (yield* wrote(NOTE, row)) || (yield* one(IS_KNOWN, row)) !== undefined;
  if (isNoted) return { kind: 'noted' };
  return { kind: 'refused', why: 'execution-unknown', id };
}

function* listAudit(query: ListAudit): Script<readonly AuditRecord[]> {
  const statement = query.execution === undefined ? indexFor(query).list : OF_EXECUTION;
  return yield* every(statement, valuesOf(query), toAudit);
}

function* auditEdge(query: ListAudit): Script<AuditId | undefined> {
  const { target, actor, action } = query;
  if (query.execution !== undefined || countGiven(target, actor, action) < 2) return undefined;
  return yield* edgeOf(indexFor(query).edge, valuesOf(query));
}

function valuesOf(query: ListAudit): object {
  const { target, action } = query;
  return { ...query, kind: target?.kind, target: target?.id, act: action && storedAction(action) };
}

function indexFor({ target, actor, action }: ListAudit): Lists {
  if (target !== undefined) return BY_TARGET;
  if (actor !== undefined) return BY_ACTOR;
  return action === undefined ? BY_PROJECT : BY_ACTION;
}
