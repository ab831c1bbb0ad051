import type { ExecutionId } from '../../../execution/names.ts';
import { changedByRedrive } from '../../../features/audit/decide.ts';
import { decideRedrive, type RedriveDecision } from '../../../features/repair/decide.ts';
import type { Redrive, RedriveAnswer } from '../../../features/repair/port.ts';
import { assert } from '../../../support/assert.ts';
import { fromSubmit, PREVIOUS_CODES, sagaOf } from '../../execution-rows.ts';
import { writeAudit } from '../../sql/audit.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { noteLimit } from './gates.ts';
import { onceOfJob } from './jobs.ts';
import { loadExecution } from './load-execution.ts';
import { refuseRelease } from './pin.ts';
import { insertRow } from './submit.ts';

const OPEN = `
  select id
    from execution indexed by execution_redrive
   where redrive_of = :of
     and redrive_of is not null
     and ended_at is null`;

// What a submit does not say. Given back: whoever claims it reads what it has of history.
const START_LATER = `
  update execution
     set seq = :seq,
         previous = ${PREVIOUS_CODES['given-back']},
         saga = :saga,
         deadline_at = :deadlineAt
   where id = :id`;

const APPEND = `
  insert into history (row_id, seq, at, kind, name, body)
  select row_id, :seq, :at, :kind, :name, :body
    from execution
   where id = :id`;

// Y-22: where there is one.
const MARK_REDRIVEN = `
  update dead_letter
     set redriven_by = :id
   where execution_id = :of`;

export function redrive(tx: Transaction, request: Redrive): RedriveAnswer {
  const item = { job: request.job, target: request.of };
  return onceOfJob(tx, item, () => redriveOnce(tx, request));
}

/** Rare, so it reads first; that there is one open re-drive at most, the index sees to as well (Y-21). */
function redriveOnce(tx: Transaction, request: Redrive): RedriveAnswer {
  const { of, submit } = request;
  const view = {
    of: loadExecution(tx, of),
    open: tx.get<{ id: ExecutionId }>(OPEN, { of })?.id,
    byId: loadExecution(tx, submit.id),
  };
  const refusal = submit.release === undefined ? undefined : refuseRelease(tx, submit);
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  const decision = decideRedrive(view, request, tx.now);
  play(tx, writeAudit(request, changedByRedrive(view.of, decision), tx.now));
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refused', ...decision.refusal };
    case 'existing':
      return { kind: 'submitted', id: decision.id, existing: true };
    case 'insert':
      insert(tx, request, decision);
      return { kind: 'submitted', id: submit.id, existing: false };
  }
}

function insert(
  tx: Transaction,
  { of, submit }: Redrive,
  { execution, events }: Extract<RedriveDecision, { readonly kind: 'insert' }>,
): void {
  const { id, seq, deadlineAt } = execution;
  const isInserted = insertRow(tx, fromSubmit(submit, tx.now), submit);
  assert(isInserted, 'Y-21: a re-drive that may be stored was not');
  for (const { kind, at, seq: nth, name = null, body = null } of events.slice(1)) {
    tx.run(APPEND, { id, seq: nth, at, kind, name, body });
  }
  tx.run(START_LATER, { id, seq, saga: sagaOf(execution), deadlineAt: deadlineAt ?? null });
  noteLimit(tx, submit);
  tx.run(MARK_REDRIVEN, { of, id });
  tx.ring();
}
