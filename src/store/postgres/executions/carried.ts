import { toFence } from '../../../lease/fence.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Claimed, ReadCarried } from '../../contract/execution-store.ts';
import { type ExecutionRow, previousIn, toExecution } from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { EXECUTION_COLUMNS } from './rows.ts';

const CARRIED = statement(`
  select ${EXECUTION_COLUMNS}, h.body as said
    from hf.execution e
    join hf.history h on ${lookUp('h.execution_id', 'e.id')} and h.seq = e.claimed_seq
   where e.status = 1
     and e.session_id = $1
     and e.fence > $2
   order by e.fence
   limit $3`);

export async function carried(
  queries: Queries,
  { session, after, limit }: ReadCarried,
): Promise<readonly Claimed[]> {
  return (await queries.rows<CarriedRow>(CARRIED, [session, after, limit])).map(toCarried);
}

/** With what was said when it was claimed. */
export type CarriedRow = ExecutionRow & { readonly said: string };

export function toCarried(row: CarriedRow): Claimed {
  return {
    execution: toExecution(row),
    fence: toFence(row.fence ?? 0),
    previous: previousIn(row.said),
    claimedAt: row.claimed_at as Instant,
  };
}
