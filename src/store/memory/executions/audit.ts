import type { Audited, AuditRecord } from '../../../execution/audit.ts';
import { auditOf, type Changed, changedByAct, noteOf } from '../../../execution/decide/audit.ts';
import type { Instant } from '../../../support/clock.ts';
import type { ListAudit, Note, NoteAnswer, RecordAct } from '../../contract/audit-store.ts';
import type { ExecutionState } from './state.ts';

/** J-1: in the turn of its act. */
export function writeAudit(
  state: ExecutionState,
  request: Audited,
  { changed, now }: { readonly changed: Changed | undefined; readonly now: Instant },
): void {
  const record = auditOf(request, changed, now);
  if (record !== undefined) state.audit.add(structuredClone(record));
}

/** J-9. */
export function recordAct(state: ExecutionState, request: RecordAct): void {
  writeAudit(state, request, { changed: changedByAct(request), now: state.kernel.now() });
}

/** J-5. */
export function note(state: ExecutionState, request: Note): NoteAnswer {
  const { id, project, audit } = request;
  if (state.entries.get(id)?.execution.project !== project) {
    return { kind: 'refused', why: 'execution-unknown', id };
  }
  state.audit.add(noteOf(audit, { id, project }, state.kernel.now()));
  return { kind: 'noted' };
}

export function listAudit(state: ExecutionState, query: ListAudit): readonly AuditRecord[] {
  const { project, before, limit } = query;
  return state.audit
    .recordsOf(project)
    .filter((record) => (before === undefined || record.id < before) && fits(record, query))
    .slice(-limit)
    .toReversed()
    .map((record) => structuredClone(record));
}

function fits(record: AuditRecord, { target, actor, act }: ListAudit): boolean {
  return (
    (target === undefined ||
      (target.kind === record.target.kind && target.id === record.target.id)) &&
    (actor === undefined || actor === record.actor) &&
    (act === undefined || act === record.act)
  );
}
