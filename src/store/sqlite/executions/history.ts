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
  toStatus,
} from '../../execution-rows.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

// `+ 0`, as in ready-rows.ts: a bare parameter would be planned for at every call.
const HISTORY_PAGE = `
  select seq, at, fence, kind, name, body
    from history
   where row_id = (select row_id from execution where id = :id)
     and seq > :after
   order by seq
   limit :limit + 0`;

export function history(tx: ReadTransaction, query: ReadHistory): readonly HistoryEvent[] {
  const { id, after, limit } = query;
  return tx.all<HistoryRow>(HISTORY_PAGE, { id, after, limit }).map(toHistoryEvent);
}

const BYTES = `
  select coalesce(sum(octet_length(body)), 0) as bytes
    from history
   where row_id = (select row_id from execution where id = :id)`;

export function histories(
  tx: ReadTransaction,
  { ids, bytesMax }: ReadHistories,
): readonly WholeHistory[] {
  const found: WholeHistory[] = [];
  let bytes = 0;
  for (const id of new Set(ids)) {
    bytes += tx.get<{ bytes: number }>(BYTES, { id })?.bytes ?? 0;
    if (bytes > bytesMax) break;
    const events = history(tx, { id, after: 0, limit: Number.MAX_SAFE_INTEGER });
    if (events.length > 0) found.push({ id, events });
  }
  return found;
}

// `+ 0`, as in ready-rows.ts: a bare parameter would be planned for at every call.
const INBOX_PAGE = `
  select n, at, kind, name, body
    from inbox
   where execution_id = :id
     and n > :after
   order by n
   limit :limit + 0`;

export function inbox(tx: ReadTransaction, query: ReadInbox): readonly InboxMessage[] {
  const { id, after, limit } = query;
  return tx.all<InboxRow>(INBOX_PAGE, { id, after, limit }).map(toInboxMessage);
}

// `+ 0`, as in ready-rows.ts: a bare parameter would be planned for at every call.
const CHILDREN_PAGE = `
  select id, pipeline, status
    from execution indexed by execution_parent
   where parent_id = :parent
     and id > :after
   order by id
   limit :limit + 0`;

interface Row {
  readonly id: ExecutionId;
  readonly pipeline: PipelineName;
  readonly status: number;
}

export function children(tx: ReadTransaction, query: ListChildren): readonly ChildSummary[] {
  const { parent, after = '', limit } = query;
  return tx.all<Row>(CHILDREN_PAGE, { parent, after, limit }).map(({ id, pipeline, status }) => ({
    id,
    pipeline: parseRoute(pipeline).pipeline,
    status: toStatus(status),
  }));
}

const APPEND = `
  insert into history (row_id, seq, at, kind, name, body)
  select row_id, :seq, :at, :kind, :name, :body
    from execution
   where id = :id`;

/** An event of somebody who does not own the execution: nobody does, and the row's seq is exact. */
export function appendOutside(tx: Transaction, id: string, event: HistoryEvent): void {
  const { seq, at, kind, name, body } = event;
  tx.run(APPEND, { id, seq, at, kind, name: name ?? null, body: body ?? null });
}
