// All that an end does beside the row itself, whoever brings it about.

import type { HistoryEvent } from '../../../execution/history.ts';
import type { ExecutionId, Payload } from '../../../execution/names.ts';
import type { DeadLetter } from '../../../features/repair/model.ts';
import type { Finish } from '../../contract/execution-store.ts';
import { type ExecutionRow, STATUS_CODES } from '../../execution-rows.ts';
import type { Transaction } from '../transaction.ts';
import { closeAwaits } from './close-awaits.ts';
import { writeDeadLetter } from './dead-letters.ts';
import { deliver } from './deliver.ts';
import { freePlace } from './gates.ts';
import { appendOutside } from './history.ts';
import { addErrand } from './submit.ts';
import { follow } from './successor.ts';

// For executions that nobody runs; their row's seq is exact. None of them has anything to undo (Y-3).
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

const LET_GO_OF_PLACE = `
  update execution
     set has_place = 0
   where id = :id`;

const HAS_CHILDREN = 'select 1 from execution where parent_id = :id limit 1';

type Consequences = Pick<Finish, 'outcome' | 'successor' | 'newsSeen' | 'unread'>;

/** Ends an execution that is queued or waiting. */
export function endWaiting(
  tx: Transaction,
  row: ExecutionRow,
  end: {
    readonly status: 'failed' | 'cancelled';
    readonly event: HistoryEvent;
    readonly outcome: Payload;
    readonly deadLetter?: DeadLetter;
  },
): void {
  const { event, deadLetter } = end;
  appendOutside(tx, row.id, event);
  tx.run(END, { id: row.id, status: STATUS_CODES[end.status], now: tx.now, seq: event.seq });
  afterEnd(tx, row, { outcome: end.outcome });
  if (deadLetter !== undefined) writeDeadLetter(tx, row.id, deadLetter);
  closeAwaits(tx, row.id);
  tx.ring();
}

/** `row` is what the execution was before it ended. */
export function afterEnd(tx: Transaction, row: ExecutionRow, consequences: Consequences): void {
  const { id } = row;
  const { outcome, successor } = consequences;
  if (row.has_place) tx.run(LET_GO_OF_PLACE, { id });
  const next =
    successor === undefined ? undefined : follow(tx, row, { ...consequences, successor });
  if (row.has_place && next?.hasPlace !== true) freePlace(tx, row);
  if (next?.cancelled !== undefined) endWaiting(tx, next.row, next.cancelled);
  // Whoever goes on in its place tells the parent when it ends.
  if (row.parent_id !== null && successor === undefined) {
    deliver(tx, row.parent_id as ExecutionId, {
      kind: 'child-ended',
      name: row.parent_call,
      body: outcome ?? null,
      project: row.project,
    });
  }
  if (tx.get(HAS_CHILDREN, { id }) !== undefined) addErrand(tx, id);
}
