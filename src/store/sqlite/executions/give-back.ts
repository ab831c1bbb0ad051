import { decideGiveBack } from '../../../execution/decide/owner.ts';
import { assert } from '../../../support/assert.ts';
import type { GiveBack, GivenBack } from '../../contract/execution-store.ts';
import { HOLD_BITS, sagaOf } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import type { Transaction } from '../transaction.ts';
import {
  endClaim,
  isOpen,
  lastSeqAfter,
  OWNED,
  ownedRow,
  ownerView,
  refusedOwner,
} from './owner.ts';

// An execution that compensates keeps doing so until it ends (Y-2).
const GIVE_BACK = positional(
  'readyAt hold saga seq rowId fence session open inboxSeen',
  `
  update execution
     set status = 0,
         session_id = null,
         ready_at = :readyAt,
         hold = :hold,
         saga = case when saga = 2 then 2 else :saga end,
         previous = 2,
         seq = :seq
   where row_id = :rowId
     ${OWNED}
     and news <= :inboxSeen    -- guard: news`,
);

// Compensation has no deadline (Y-2). This is a separate statement, so that an ordinary give-back
// does not write to the deadline index.
const FORGET_DEADLINE = `
  update execution
     set deadline_at = null
   where id = :id`;

export function giveBack(tx: Transaction, request: GiveBack): GivenBack {
  const { id, compensating = false } = request;
  const rowId = ownedRow(tx, request);
  if (rowId !== undefined && isGivenBack(tx, rowId, request)) {
    endClaim(tx, rowId, request);
    if (compensating) tx.run(FORGET_DEADLINE, { id });
    tx.notify(request.project);
    return { kind: 'given-back' };
  }
  const view = ownerView(tx, request, request.events.length);
  const decision = decideGiveBack(view, request, tx.now);
  assert(decision.kind !== 'apply', 'X-15: an owner that may give back was not let');
  return decision.kind === 'replay' ? { kind: 'given-back' } : refusedOwner(tx, decision.refusal);
}

function isGivenBack(tx: Transaction, rowId: number, request: GiveBack): boolean {
  const { delayMs = 0, blocked, paused, inboxSeen = Number.MAX_SAFE_INTEGER } = request;
  const { compensable = false, compensating = false, fence, session } = request;
  const hold =
    (blocked === true ? HOLD_BITS.blocked : 0) + (paused === true ? HOLD_BITS.paused : 0);
  const saga = sagaOf({ compensable, compensating });
  const seq = lastSeqAfter(tx, request);
  const open = isOpen(tx, session);
  const { changes } = tx
    .statement(GIVE_BACK)
    .run(tx.now + delayMs, hold, saga, seq, rowId, fence, session, open, inboxSeen);
  return changes === 1;
}
