import type { HistoryEvent } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { ReadHistory, WholeHistory } from '../../contract/execution-store.ts';
import { type HistoryRow, toHistoryEvent } from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';
import { uuids } from './arrays.ts';

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

const READ_ALL = statement(`
  select h.execution_id, h.seq, h.at, h.fence, h.kind, h.name, h.body
    from unnest($1::uuid[]) with ordinality as u(id, nth)
   cross join lateral (select h.* from hf.history h where h.execution_id = u.id offset 0) h
   order by u.nth, h.seq`);

export async function readHistories(
  database: Database,
  ids: readonly ExecutionId[],
): Promise<readonly WholeHistory[]> {
  if (ids.length === 0) return [];
  type Row = HistoryRow & { readonly execution_id: ExecutionId };
  const rows = await database.rows<Row>(READ_ALL, [uuids([...new Set(ids)])]);
  const byId = Map.groupBy(rows, (row) => row.execution_id);
  return [...byId].map(([id, events]) => ({ id, events: events.map(toHistoryEvent) }));
}
