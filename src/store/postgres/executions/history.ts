import type { HistoryEvent, InboxMessage } from '../../../execution/history.ts';
import type { ExecutionId, PipelineName } from '../../../execution/names.ts';
import { parseRoute } from '../../../execution/route.ts';
import type {
  ChildSummary,
  ListChildren,
  ReadHistories,
  ReadHistory,
  ReadInbox,
  WholeHistory,
} from '../../contract/execution-store.ts';
import {
  type HistoryRow,
  type InboxRow,
  toHistoryEvent,
  toInboxMessage,
} from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';
import { uuids } from './arrays.ts';
import { statusOf } from './rows.ts';

const READ_HISTORY = statement(`
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
  const rows = await database.rows<HistoryRow & object>(READ_HISTORY, [
    query.id,
    query.after,
    query.limit,
  ]);
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

const READ_INBOX = statement(`
  select i.n, i.at, i.kind, i.name, i.body
    from hf.inbox i
   where i.execution_id = $1
     and i.n > $2
   order by i.n
   limit $3`);

export async function readInbox(
  database: Database,
  query: ReadInbox,
): Promise<readonly InboxMessage[]> {
  const rows = await database.rows<InboxRow & object>(READ_INBOX, [
    query.id,
    query.after,
    query.limit,
  ]);
  return rows.map(toInboxMessage);
}

// `between` and the order leave the planner the index of parents; by the primary key it would read all.
const LIST = statement(`
  select e.id, e.pipeline, e.status
    from hf.execution e
   where e.parent_id between $1 and $1
     and e.id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
   order by e.parent_id, e.id
   limit $3`);

export async function listChildren(
  database: Database,
  query: ListChildren,
): Promise<readonly ChildSummary[]> {
  const values = [query.parent, query.after ?? null, query.limit];
  const rows = await database.rows<{ id: ExecutionId; pipeline: PipelineName; status: number }>(
    LIST,
    values,
  );
  return rows.map(({ id, pipeline, status }) => ({
    id,
    pipeline: parseRoute(pipeline).pipeline,
    status: statusOf(status),
  }));
}
