import { decideFinish } from '../../../execution/decide/owner.ts';
import { assert } from '../../../support/assert.ts';
import type { Finish, Finished } from '../../contract/execution-store.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { closeAwaits } from '../../sql/awaits.ts';
import { writeDeadLetter } from '../../sql/dead-letters.ts';
import { positional } from '../connection.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { afterEnd } from './end-execution.ts';
import { loadRow } from './load-execution.ts';
import {
  endClaim,
  isOpen,
  lastSeqAfter,
  OWNED,
  ownedRow,
  ownerView,
  refusedOwner,
} from './owner.ts';

/** Greater than the sum of the other terms in `concerns`. */
const EARLY = 8;

const ALL_MESSAGES = Number.MAX_SAFE_INTEGER;

// A running execution has neither holds nor a ready time, so this statement does not reset them:
// SQLite then skips their indexes. A compensable execution that ends has nothing left to
// compensate. `tell` reports what the end concerns: a parent, a slot, children or early answers.
const FINISH = positional(
  'status now seq rowId fence session open inboxSeen',
  `
  update execution
     set status = :status,
         ended_at = :now,
         session_id = null,
         saga = saga & 2,
         seq = :seq
   where row_id = :rowId
     ${OWNED}
     and news <= :inboxSeen    -- guard: news
     and note_row(row_id, news,
              (parent_id is not null)
              + has_place
              + exists (select 1 from execution as child where child.parent_id = execution.id)
              + ${EARLY} * early)`,
);

export function finish(tx: Transaction, request: Finish): Finished {
  const { now } = tx;
  const { id, children, successor, deadLetter, leavesAwaits } = request;
  const rowId = ownedRow(tx, request);
  if (rowId !== undefined && isFinished(tx, rowId, request)) {
    endClaim(tx, rowId, request);
    const { concerns } = tx.found;
    const isAlone = concerns % EARLY === 0 && children === undefined && successor === undefined;
    const row = isAlone ? undefined : loadRow(tx, id);
    if (row !== undefined) afterEnd(tx, row, request);
    if (deadLetter !== undefined) play(tx, writeDeadLetter(id, deadLetter));
    if (leavesAwaits === true || concerns >= EARLY) play(tx, closeAwaits(id, now));
    tx.notify(request.project, { ended: [id], ...(isAlone ? { ready: [] } : {}) });
    return { kind: 'finished', at: now };
  }
  const view = ownerView(tx, request, request.events.length);
  const decision = decideFinish(view, request, now);
  assert(decision.kind !== 'apply', 'X-14: an owner that may finish was not let');
  return decision.kind === 'replay'
    ? { kind: 'finished', at: decision.execution.endedAt ?? decision.at }
    : refusedOwner(tx, decision.refusal);
}

function isFinished(tx: Transaction, rowId: number, request: Finish): boolean {
  const { status, fence, session, successor, inboxSeen } = request;
  // A successor gets the unread messages.
  const seen = successor === undefined ? (inboxSeen ?? ALL_MESSAGES) : ALL_MESSAGES;
  const seq = lastSeqAfter(tx, request);
  const { changes } = tx
    .statement(FINISH)
    .run(STATUS_CODES[status], tx.now, seq, rowId, fence, session, isOpen(tx, session), seen);
  return changes === 1;
}
