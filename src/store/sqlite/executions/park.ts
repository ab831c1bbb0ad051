import { decidePark } from '../../../execution/decide/owner.ts';
import { assert } from '../../../support/assert.ts';
import type { Park, Parked } from '../../contract/execution-store.ts';
import { sagaOf } from '../../execution-rows.ts';
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
const PARK = positional(
  'readyAt wakeAfter saga seq rowId fence session open inboxSeen',
  `
  update execution
     set status = 2,
         session_id = null,
         ready_at = :readyAt,
         wake_after = :wakeAfter,
         saga = case when saga = 2 then 2 else :saga end,
         previous = 1,
         seq = :seq
   where row_id = :rowId
     ${OWNED}
     and news <= :inboxSeen    -- guard: news`,
);

export function park(tx: Transaction, request: Park): Parked {
  const rowId = ownedRow(tx, request);
  if (rowId !== undefined && isParked(tx, rowId, request)) {
    endClaim(tx, rowId, request);
    // The timer may be sooner than the time that idle workers wait for.
    if (request.wakeInMs !== undefined) tx.notify(request.project);
    return { kind: 'parked' };
  }
  const view = ownerView(tx, request, request.events.length);
  const decision = decidePark(view, request, tx.now);
  assert(decision.kind !== 'apply', 'X-15: an owner that may park was not let');
  return decision.kind === 'replay' ? { kind: 'parked' } : refusedOwner(tx, decision.refusal);
}

function isParked(tx: Transaction, rowId: number, request: Park): boolean {
  const { wakeInMs, wakeAfter, inboxSeen, compensable = false, fence, session } = request;
  const readyAt = wakeInMs === undefined ? null : tx.now + wakeInMs;
  const saga = sagaOf({ compensable, compensating: false });
  const seq = lastSeqAfter(tx, request);
  const open = isOpen(tx, session);
  const { changes } = tx
    .statement(PARK)
    .run(readyAt, wakeAfter, saga, seq, rowId, fence, session, open, inboxSeen);
  return changes === 1;
}
