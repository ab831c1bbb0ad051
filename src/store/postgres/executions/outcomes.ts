import type { TerminalStatus } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Outcome } from '../../contract/execution-store.ts';
import { type HistoryRow, TERMINAL_FROM, toHistoryEvent } from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { uuids } from './arrays.ts';
import { statusOf } from './rows.ts';

// The seq of a row that has ended is that of the event that ended it.
const READ = statement(`
  select e.id, e.status, e.ended_at, h.seq, h.at, h.fence, h.kind, h.name, h.body
    from unnest($1::uuid[]) with ordinality as u(id, nth)
    join hf.execution e on ${lookUp('e.id', 'u.id')}
    join hf.history h on ${lookUp('h.execution_id', 'e.id')} and h.seq = e.seq
   where coalesce(e.status >= ${TERMINAL_FROM}, false)
   order by u.nth`);

interface OutcomeRow extends HistoryRow {
  readonly id: ExecutionId;
  readonly status: number;
  readonly ended_at: number;
}

export async function readOutcomes(
  database: Database,
  ids: readonly ExecutionId[],
): Promise<readonly Outcome[]> {
  if (ids.length === 0) return [];
  const rows = await database.rows<OutcomeRow & object>(READ, [uuids([...new Set(ids)])]);
  return rows.map((row) => ({
    id: row.id,
    status: statusOf(row.status) as TerminalStatus,
    endedAt: row.ended_at as Instant,
    event: toHistoryEvent(row),
  }));
}
