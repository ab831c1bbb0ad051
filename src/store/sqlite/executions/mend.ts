// Repairs of what is provable (Z-4). Each looks again: since it was found somebody may have gone on. The write
// lock is held.

import type { ProjectName } from '../../../execution/names.ts';
import { judgePlace, takenFromNobody } from '../../../features/reconcile/decide.ts';
import type { InvariantName, Violation } from '../../../features/reconcile/model.ts';
import type { SessionId } from '../../../lease/names.ts';
import { PREVIOUS_CODES, toExecution } from '../../execution-rows.ts';
import { placeFacts } from '../../sql/reconcile.ts';
import { play } from '../gateway.ts';
import { sweep } from '../sweep.ts';
import type { Transaction } from '../transaction.ts';
import { closeAwaits } from './close-awaits.ts';
import { handOn } from './gates.ts';
import { appendOutside } from './history.ts';
import { loadRow } from './load-execution.ts';
import { WAITING_MENDS } from './mend-waiting.ts';
import { lastSeqOf } from './owner-view.ts';

type Mend = (tx: Transaction, violation: Violation) => boolean;

const SWEEP_MAX = 100;

const IS_LEFT_OPEN = `
  select 1
    from execution
   where id = :execution
     and status >= 10
     and exists (select 1 from interaction indexed by interaction_execution where interaction.execution_id = execution.id and interaction.status = 0)`;

const READY_NOW = `
  update execution
     set ready_at = :now
   where id = :execution
     and status = 0
     and ready_at is null`;

const PUT_OFF = `
  update schedule
     set next_at = null
   where project = :project
     and id = :about
     and paused = 1
     and next_at is not null`;

const GIVE_BACK = `
  update execution
     set status = 0,
         ready_at = :now,
         previous = ${PREVIOUS_CODES['given-back']},
         seq = :seq
   where id = :execution
     and status = 1
     and session_id is null`;

const COUNT = `
  update place
     set taken = :held
   where project = :project
     and key = :about`;

const MENDS: Readonly<Partial<Record<InvariantName, Mend>>> = {
  ...WAITING_MENDS,
  'overdue-not-swept': (tx, { about }) => {
    const session = about as SessionId;
    // One sweep may have ended several that were found.
    if (tx.isOpen(session)) sweep(tx, { limit: SWEEP_MAX });
    return !tx.isOpen(session);
  },
  'run-by-nobody': (tx, { execution = '' }) => {
    const row = loadRow(tx, execution);
    if (row === undefined) return false;
    const { event } = takenFromNobody(toExecution(row), lastSeqOf(tx, execution), tx.now);
    if (tx.run(GIVE_BACK, { execution, seq: event.seq, now: tx.now }) === 0) return false;
    appendOutside(tx, execution, event);
    tx.connection.dropTail(execution);
    tx.ring();
    return true;
  },
  'await-of-the-ended': (tx, { execution = '' }) => {
    if (tx.get(IS_LEFT_OPEN, { execution }) === undefined) return false;
    closeAwaits(tx, execution);
    return true;
  },
  'places-miscounted': countAnew,
  'place-not-given': countAnew,
  'paused-schedule-with-time': (tx, { project = '', about = '' }) =>
    tx.run(PUT_OFF, { project, about }) > 0,
  'queued-without-time': (tx, { execution = '' }) => {
    const isReady = tx.run(READY_NOW, { execution, now: tx.now }) > 0;
    if (isReady) tx.ring();
    return isReady;
  },
};

/** Whether it was repaired. */
export function mend(tx: Transaction, violation: Violation): boolean {
  return MENDS[violation.invariant]?.(tx, violation) ?? false;
}

/** Z-14: the executions say what is true. */
function countAnew(tx: Transaction, { project, about = '' }: Violation): boolean {
  const facts = play(tx, placeFacts(project ?? '', about));
  if (facts === undefined || judgePlace(facts).length === 0) return false;
  const { held, slots } = facts;
  tx.run(COUNT, { project: facts.project, about, held });
  const concurrency = { key: about, limit: slots };
  handOn(tx, { project: project as ProjectName, concurrency });
  tx.ring();
  return true;
}
