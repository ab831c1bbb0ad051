// The consequences of an end beyond the row itself, for every cause of an end.

import { CANCELLED_OUTCOME, endAsCancelled } from '../../../execution/decide/command.ts';
import { assert } from '../../../support/assert.ts';
import type { Finish } from '../../contract/execution-store.ts';
import { type ExecutionRow, fromSubmit, STATUS_CODES, toExecution } from '../../execution-rows.ts';
import { closeAwaits } from '../../sql/awaits.ts';
import type { WaitingEnd } from '../../sql/changes.ts';
import { writeDeadLetter } from '../../sql/dead-letters.ts';
import { appendEvent } from '../../sql/executions.ts';
import { native } from '../../sql/script.ts';
import { follow, type InsertSuccessor } from '../../sql/successor.ts';
import { positional } from '../connection.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { freeSlot, noteLimit } from './gates.ts';
import { loadRow } from './load-execution.ts';
import { addErrand, insertRow, noteParent } from './submit.ts';

// For executions that no session runs, so the row's seq is exact. None of them has anything to
// compensate (Y-3).
const END = `
  update execution
     set status = :status,
         ended_at = :now,
         seq = :seq,
         ready_at = null,
         hold = 0,
         gated = 0,
         wake_after = 0
   where id = :id`;

const FREE_SLOT = `
  update execution
     set has_place = 0
   where id = :id`;

const HAS_CHILDREN = 'select 1 from execution where parent_id = :id limit 1';

type Consequences = Pick<Finish, 'outcome' | 'successor' | 'inboxSeen' | 'unread'>;

/** Ends a queued or waiting execution. */
export function endWaiting(tx: Transaction, row: ExecutionRow, end: WaitingEnd): void {
  const { execution, event, outcome, deadLetter } = end;
  const { id, status } = execution;
  play(tx, appendEvent(id, event));
  tx.run(END, { id, status: STATUS_CODES[status], now: tx.now, seq: event.seq });
  afterEnd(tx, row, { outcome });
  if (deadLetter !== undefined) play(tx, writeDeadLetter(id, deadLetter));
  play(tx, closeAwaits(id, tx.now));
  tx.notify(execution.project);
}

/** `row` is the execution before it ended. */
export function afterEnd(tx: Transaction, row: ExecutionRow, consequences: Consequences): void {
  const { id } = row;
  const { outcome, successor } = consequences;
  if (row.has_place) tx.run(FREE_SLOT, { id });
  const next =
    successor === undefined
      ? undefined
      : play(
          tx,
          follow(toExecution(row), { ...consequences, successor, now: tx.now }, insertSuccessor),
        );
  if (row.has_place && next?.execution.hasSlot !== true) freeSlot(tx, row);
  if (next?.cancel !== undefined) {
    const cancelled = loadRow(tx, next.execution.id);
    assert(cancelled !== undefined, 'X-14: a successor that was inserted is stored');
    const end = endAsCancelled(toExecution(cancelled), { ...next.cancel, now: tx.now });
    endWaiting(tx, cancelled, { ...end, outcome: CANCELLED_OUTCOME });
  }
  // If there is a successor, its own end will notify the parent.
  if (row.parent_id !== null && successor === undefined) notifyParent(tx, row, outcome);
  if (tx.get(HAS_CHILDREN, { id }) !== undefined) addErrand(tx, id);
}

const insertSuccessor: InsertSuccessor = ({ key, intent, gated, hasSlot }, successor) =>
  native((tx: Transaction) => {
    // A successor that takes over the slot is not a new submit.
    if (!hasSlot) noteLimit(tx, successor);
    const row = {
      ...fromSubmit(successor, tx.now),
      key: key ?? null,
      intent: intent ?? null,
      gated: gated ? 1 : 0,
      has_place: hasSlot ? 1 : 0,
    };
    insertRow(tx, row, successor);
    if (successor.parent !== undefined) noteParent(tx, successor.parent.id);
  });

// The end of a child lowers the count and wakes the parent at zero. A time that is already
// due stays, because it shows how long the execution has been ready.
const ARRIVE = positional(
  'id now project',
  `
  update execution
     set news = news + 1,
         wake_after = wake_after - (status = 2 and wake_after > 0),
         ready_at = case
                      when status = 2 and wake_after <= 1
                      then min(coalesce(ready_at, :now), :now)
                      else ready_at
                    end,
         status = case when status = 2 and wake_after <= 1 then 0 else status end
   where id = :id
     and status < 10 -- guard: open
     and project = :project -- guard: project
  returning news`,
);

const PUT = positional(
  'id n now name body',
  `
  insert into inbox (execution_id, n, at, kind, name, body)
  values (:id, :n, :now, 'child-ended', :name, :body)`,
);

/**
 * Counts and stores the message in one step, unless the parent has ended or belongs to
 * another project.
 */
function notifyParent(tx: Transaction, child: ExecutionRow, outcome: Finish['outcome']): void {
  const { parent_id: id, parent_call: call, project } = child;
  const arriving = tx.arrays<readonly [inboxCount: number]>(ARRIVE);
  const values = arriving.get(id, tx.now, project);
  if (values === undefined) return;
  const [inboxCount] = values;
  tx.statement(PUT).run(id, inboxCount, tx.now, call, outcome ?? null);
}
