// All that an end does beside the row itself, whoever brings it about.

import { decideSuccessor } from '../../../execution/decide/submit.ts';
import type { HistoryEvent } from '../../../execution/history.ts';
import type { ExecutionId, Payload } from '../../../execution/names.ts';
import type { Submit } from '../../contract/execution-store.ts';
import { type ExecutionRow, fromSubmit, STATUS_CODES, toExecution } from '../../execution-rows.ts';
import type { Transaction } from '../transaction.ts';
import { appendOutside } from './append-outside.ts';
import { deliver } from './deliver.ts';
import { freePlace, noteLimit } from './gates.ts';
import { loadRow } from './load-execution.ts';
import { addErrand, insertRow, noteParent } from './submit.ts';

// For executions that nobody runs; their row's seq is exact.
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

const LET_GO_OF_KEY = `
  update execution
     set key = null,
         intent = null
   where id = :id`;

const HAS_CHILDREN = 'select 1 from execution where parent_id = :id limit 1';

interface Consequences {
  readonly outcome?: Payload;
  readonly successor?: Submit;
}

/** Ends an execution that is queued or waiting. */
export function endWaiting(
  tx: Transaction,
  row: ExecutionRow,
  end: {
    readonly status: 'failed' | 'cancelled';
    readonly event: HistoryEvent;
    readonly outcome: Payload;
  },
): void {
  const { event } = end;
  appendOutside(tx, row.id, event);
  tx.run(END, { id: row.id, status: STATUS_CODES[end.status], now: tx.now, seq: event.seq });
  afterEnd(tx, row, { outcome: end.outcome });
  tx.ring();
}

/** `row` is what the execution was before it ended. */
export function afterEnd(tx: Transaction, row: ExecutionRow, consequences: Consequences): void {
  const { id } = row;
  const { outcome, successor } = consequences;
  if (row.has_place) tx.run(LET_GO_OF_PLACE, { id });
  const isTaken = successor !== undefined && follow(tx, row, successor);
  if (row.has_place && !isTaken) freePlace(tx, row);
  // Whoever goes on in its place tells the parent when it ends.
  if (row.parent_id !== null && successor === undefined) {
    deliver(tx, row.parent_id as ExecutionId, {
      kind: 'child-ended',
      name: row.parent_call,
      body: outcome ?? null,
    });
  }
  if (tx.get(HAS_CHILDREN, { id }) !== undefined) addErrand(tx, id);
}

/** Whether the successor took the place over. One whose id is taken is left out. */
function follow(tx: Transaction, ended: ExecutionRow, successor: Submit): boolean {
  if (loadRow(tx, successor.id) !== undefined) return false;
  const { execution } = decideSuccessor(toExecution(ended), successor, tx.now);
  // Two executions with one key could not be told apart.
  tx.run(LET_GO_OF_KEY, { id: ended.id });
  noteLimit(tx, successor);
  const row = {
    ...fromSubmit(successor, tx.now),
    key: execution.key ?? null,
    intent: execution.intent ?? null,
    gated: execution.gated ? 1 : 0,
    has_place: execution.hasPlace ? 1 : 0,
  };
  insertRow(tx, row, successor);
  if (successor.parent !== undefined) noteParent(tx, successor.parent.id);
  return execution.hasPlace;
}
