import { toFence } from '../../../lease/fence.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Claimed, ReadCarried } from '../../contract/execution-store.ts';
import { previousIn, toExecution } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import type { ReadTransaction } from '../transaction.ts';
import { COLUMNS, loadRows } from './load-execution.ts';

const CARRIED = positional(
  'session after limit',
  `
  select ${COLUMNS}
    from execution indexed by execution_running
   where status = 1
     and session_id = :session
     and fence > :after
   order by fence
   limit :limit`,
);

const SAID = positional(
  'rowId seq',
  `
  select body
    from history
   where row_id = :rowId
     and seq = :seq`,
);

export function carried(
  tx: ReadTransaction,
  { session, after, limit }: ReadCarried,
): readonly Claimed[] {
  return loadRows(tx, CARRIED, session, after, limit).map((row) => {
    const statement = tx.arrays<readonly [body: string | null]>(SAID);
    const said = statement.get(row.row_id, row.claimed_seq);
    return {
      execution: toExecution(row),
      fence: toFence(row.fence ?? 0),
      previous: previousIn(said?.[0]),
      claimedAt: row.claimed_at as Instant,
    };
  });
}
