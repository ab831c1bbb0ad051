import type { Audited, AuditRecord } from '../../../execution/audit.ts';
import { auditOf, type Changed, changedByAct, noteOf } from '../../../execution/decide/audit.ts';
import { type AuditRow, fromAudit, toAudit } from '../../audit-rows.ts';
import type { ListAudit, Note, NoteAnswer, RecordAct } from '../../contract/audit-store.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

const COLUMNS = 'id, at, project, actor, act, target_kind, target_id, reason, was, became';

// J-3: the first one of an id stays.
const WRITE = `
  insert into audit (${COLUMNS})
  values (:id, :at, :project, :actor, :act, :target_kind, :target_id, :reason, :was, :became)
  on conflict (id) do nothing`;

const NOTE = `
  insert into audit (${COLUMNS})
  select :id, :at, project, :actor, :act, :target_kind, id, :reason, :was, :became
    from execution
   where id = :target_id
     and project = :project -- guard: project
  on conflict (id) do nothing`;

const IS_THERE = 'select 1 from audit where id = :id';

/** J-1: in the transaction of its act. */
export function writeAudit(tx: Transaction, request: Audited, changed: Changed | undefined): void {
  const record = auditOf(request, changed, tx.now);
  if (record !== undefined) tx.run(WRITE, { ...fromAudit(record) });
}

/** J-9. */
export function recordAct(tx: Transaction, request: RecordAct): void {
  writeAudit(tx, request, changedByAct(request));
}

/** J-5. */
export function note(tx: Transaction, { id, project, audit }: Note): NoteAnswer {
  const record = noteOf(audit, { id, project }, tx.now);
  const isNoted =
    tx.run(NOTE, { ...fromAudit(record) }) > 0 || tx.get(IS_THERE, { id: audit.id }) !== undefined;
  return isNoted ? { kind: 'noted' } : { kind: 'refused', why: 'execution-unknown', id };
}

/** One filter leads by its index, in the order of ids; the others are checked on the way. */
export function listAudit(tx: ReadTransaction, query: ListAudit): readonly AuditRecord[] {
  const { project, limit, before, target, actor, act } = query;
  const conditions = [
    ...(before === undefined ? [] : ['id < :before']),
    ...(target === undefined ? [] : ['target_kind = :kind', 'target_id = :target']),
    ...(actor === undefined ? [] : ['actor = :actor']),
    ...(act === undefined ? [] : ['act = :act']),
  ];
  const sql = `
  select ${COLUMNS}
    from audit indexed by ${indexOf(query)}
   where project = :project
     ${conditions.map((condition) => `and ${condition}`).join('\n     ')}
   order by id desc
   limit :limit`;
  const filters = {
    ...(before === undefined ? {} : { before }),
    ...(target === undefined ? {} : { kind: target.kind, target: target.id }),
    ...(actor === undefined ? {} : { actor }),
    ...(act === undefined ? {} : { act }),
  };
  return tx.all<AuditRow>(sql, { project, limit, ...filters }).map(toAudit);
}

function indexOf({ target, actor, act }: ListAudit): string {
  if (target !== undefined) return 'audit_target';
  if (actor !== undefined) return 'audit_actor';
  return act === undefined ? 'audit_list' : 'audit_act';
}
