import type { ExecutionId } from '../../../execution/names.ts';
import { changedByRedrive } from '../../../features/audit/decide.ts';
import { decideRedrive, type RedriveDecision } from '../../../features/repair/decide.ts';
import type { Redrive, RedriveAnswer } from '../../../features/repair/port.ts';
import { assert } from '../../../support/assert.ts';
import { fromSubmit, PREVIOUS_CODES, sagaOf } from '../../execution-rows.ts';
import { writeAudit } from '../../sql/audit.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { markRedriven } from './dead-letters.ts';
import { noteLimit } from './gates.ts';
import { appendOutside } from './history.ts';
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
  for (const event of events.slice(1)) appendOutside(tx, id, event);
  tx.run(START_LATER, { id, seq, saga: sagaOf(execution), deadlineAt: deadlineAt ?? null });
  noteLimit(tx, submit);
  markRedriven(tx, of, id);
  tx.ring();
}
