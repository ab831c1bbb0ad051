import type { ExecutionId } from '../../../execution/names.ts';
import { parseRoute } from '../../../execution/route.ts';
import type { DeadLetter } from '../../../features/repair/model.ts';
import { fromDeadLetter } from '../../../features/repair/rows.ts';
import type { Transaction } from '../transaction.ts';

// After the row has ended: its status and time are those of the end.
const WRITE = `
  insert into dead_letter (execution_id, project, pipeline, release, status, at,
                           category, code, reason, step, attempts)
  select id, project, :pipeline, :release, status, ended_at, :category, :code, :reason, :step, :attempts
    from execution
   where id = :id`;

const ROUTE = 'select pipeline from execution where id = :id';

const MARK_REDRIVEN = `
  update dead_letter
     set redriven_by = :by
   where execution_id = :of`;

/** Y-10: in the transaction that has just ended the execution. */
export function writeDeadLetter(tx: Transaction, id: string, letter: DeadLetter): void {
  const { pipeline: route = '' } = tx.get<{ pipeline: string }>(ROUTE, { id }) ?? {};
  const { pipeline, release = null } = parseRoute(route);
  tx.run(WRITE, { id, pipeline, release, ...fromDeadLetter(letter) });
}

/** Y-22: where there is one. */
export function markRedriven(tx: Transaction, of: ExecutionId, by: ExecutionId): void {
  tx.run(MARK_REDRIVEN, { of, by });
}
