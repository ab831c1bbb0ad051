import { toFence } from '../../../lease/fence.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Claimed } from '../../contract/execution-store.ts';
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
   order by e.fence`);

export async function carried(queries: Queries, session: SessionId): Promise<readonly Claimed[]> {
  return (await queries.rows<CarriedRow>(CARRIED, [session])).map(toCarried);
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
