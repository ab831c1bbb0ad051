import type { HistoryEvent } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { ReadHistories, ReadHistory, WholeHistory } from '../../contract/execution-store.ts';
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

/** The size of a body is known without reading it, so that what is left out costs little. */
const READ_ALL = statement(`
  with read as materialized (
    select h.*, u.nth, sum(octet_length(h.body)) over (order by u.nth) as bytes
      from unnest($1::uuid[]) with ordinality as u(id, nth)
     cross join lateral (select h.* from hf.history h where h.execution_id = u.id offset 0) h
  )
  select execution_id, seq, at, fence, kind, name, body
    from read
   where coalesce(bytes, 0) <= $2
   order by nth, seq`);

export async function readHistories(
  database: Database,
  { ids, bytesMax }: ReadHistories,
): Promise<readonly WholeHistory[]> {
  if (ids.length === 0) return [];
  type Row = HistoryRow & { readonly execution_id: ExecutionId };
  const rows = await database.rows<Row>(READ_ALL, [uuids([...new Set(ids)]), bytesMax]);
  const byId = Map.groupBy(rows, (row) => row.execution_id);
  return [...byId].map(([id, events]) => ({ id, events: events.map(toHistoryEvent) }));
}
