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
import { type AuditRow, fromAudit, storedAction, toAudit } from '../../features/audit/rows.ts';
import type { Instant } from '../../support/clock.ts';
import { countGiven, edgeOf, ifGiven, type Lists, newestFirst } from './newest-first.ts';
import { all, type Gateway, one, type Script, sql, wrote } from './script.ts';

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

function listBy(index: string, lead: Readonly<Record<string, string>>): Lists {
  const filters = [
    ifGiven('target_kind', ':kind'),
    ifGiven('target_id', ':target'),
    ifGiven('actor', ':actor'),
    ifGiven('act', ':act'),
  ];
  return newestFirst({ select: COLUMNS, table: 'audit', id: 'id', index, lead, filters });
}

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
  return (yield* all<AuditRow>(indexFor(query).list, valuesOf(query))).map(toAudit);
}

function* auditEdge(query: ListAudit): Script<AuditId | undefined> {
  const { target, actor, action } = query;
  if (countGiven(target, actor, action) < 2) return undefined;
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
