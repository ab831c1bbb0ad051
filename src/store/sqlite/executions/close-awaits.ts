// What an end does to the awaits that it leaves behind (W-9).

import { closedUnit } from '../../../features/awaits/decide.ts';
import { INTERACTION_CODES } from '../../../features/awaits/rows.ts';
import type { Transaction } from '../transaction.ts';
import { putUnit } from './awaits.ts';
import { loadOpenUnits } from './load-await.ts';

const CLOSE = `
  update interaction
     set status = ${INTERACTION_CODES.closed}
   where execution_id = :execution
     and status = ${INTERACTION_CODES.open} -- guard: open`;

// What nobody took up came too late.
const KEEP_EARLY = `
  insert into late_answer (interaction_id, n, answer, digest, answered_by, answered_at)
  select id, late + 1, answer, digest, answered_by, answered_at
    from interaction
   where execution_id = :execution
     and status = ${INTERACTION_CODES.early} -- guard: early`;

const CLOSE_EARLY = `
  update interaction
     set status = ${INTERACTION_CODES.closed},
         late = late + 1,
         answer = null,
         digest = null,
         answered_by = null,
         answered_at = null
   where execution_id = :execution
     and status = ${INTERACTION_CODES.early} -- guard: early`;

/** Nobody is told. */
export function closeAwaits(tx: Transaction, id: string): void {
  for (const unit of loadOpenUnits(tx, id)) putUnit(tx, closedUnit(unit, tx.now));
  const execution = { execution: id };
  tx.run(CLOSE, execution);
  tx.run(KEEP_EARLY, execution);
  tx.run(CLOSE_EARLY, execution);
}
