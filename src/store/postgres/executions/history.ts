import type { HistoryEvent } from '../../../execution/history.ts';
import type { ReadHistory } from '../../contract/execution-store.ts';
import { type HistoryRow, toHistoryEvent } from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';

const READ = statement(`
  select h.seq, h.at, h.fence, h.kind, h.name, h.body
    from hf.history h
   where h.execution_id = $1
     and h.seq > $2
   order by h.seq
   limit $3`);

export async function readHistory(
  database: Database,
  query: ReadHistory,
): Promise<readonly HistoryEvent[]> {
  const rows = await database.rows<HistoryRow & object>(READ, [query.id, query.after, query.limit]);
  return rows.map(toHistoryEvent);
}
