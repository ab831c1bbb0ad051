// Executions as they are read and written whole, by what is not on the hot path.

import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import {
  type ExecutionRow,
  holdsOf,
  STATUS_CODES,
  sagaOf,
  toStatus,
} from '../../execution-rows.ts';
import { EXECUTION_COLUMNS as COLUMNS } from '../../sql/executions.ts';
import { type Queries, statement } from '../database.ts';
import { eventColumns } from './items.ts';

/** All columns of `e`. */
export const EXECUTION_COLUMNS: string = COLUMNS.postgres;

export type StoredRow = ExecutionRow & { readonly now: number };

/** */
export const statusOf: typeof toStatus = toStatus;

const LOCK = statement(`
  select ${EXECUTION_COLUMNS}, hf_now() as now
    from hf.execution e
   where e.id = $1
     for no key update of e`);

/** The newest version, which stays as it is until the transaction ends. */
export async function lockExecution(
  queries: Queries,
  id: ExecutionId,
): Promise<StoredRow | undefined> {
  const [row] = await queries.rows<StoredRow>(LOCK, [id]);
  return row;
}

const SAVE = statement(`
  update hf.execution e
     set status      = $2,
         hold        = $3,
         gated       = $4,
         has_place   = $5,
         ready_at    = $6,
         session_id  = $7,
         seq         = $8,
         news        = $9,
         wake_after  = $10,
         ended_at    = $11,
         key         = $12,
         intent      = $13,
         progress    = $14,
         previous    = coalesce($15, e.previous),
         saga        = $16,
         deadline_at = $17
   where e.id = $1`);

/** The row must be locked. */
export async function saveExecution(
  queries: Queries,
  execution: ExecutionRecord,
  previous: number | null = null,
): Promise<void> {
  await queries.rows(SAVE, [
    execution.id,
    STATUS_CODES[execution.status],
    holdsOf(execution),
    execution.gated,
    execution.hasPlace,
    execution.readyAt ?? null,
    execution.session ?? null,
    execution.seq,
    execution.news,
    execution.wakeAfter,
    execution.endedAt ?? null,
    execution.key ?? null,
    execution.intent ?? null,
    execution.progress ?? null,
    previous,
    sagaOf(execution),
    execution.deadlineAt ?? null,
  ]);
}

const APPEND = statement(`
  insert into hf.history (execution_id, seq, at, fence, kind, name, body)
  select $1, $2::integer + u.nth - 1, $3, $4, u.kind, u.name, u.body
    from unnest($5::text[], $6::text[], $7::text[]) with ordinality as u(kind, name, body, nth)`);

export async function appendEvents(
  queries: Queries,
  id: ExecutionId,
  events: readonly HistoryEvent[],
): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  await queries.rows(APPEND, [
    id,
    first.seq,
    first.at,
    first.fence ?? null,
    ...eventColumns(events),
  ]);
}

const POST = statement(`
  insert into hf.inbox (execution_id, n, at, kind, name, body)
  values ($1, $2, $3, $4, $5, $6)`);

/** With the row locked, and saved with the news that the message counts. */
export async function postMessage(
  queries: Queries,
  id: ExecutionId,
  message: InboxMessage,
): Promise<void> {
  const { n, at, kind, name, body } = message;
  await queries.rows(POST, [id, n, at, kind, name ?? null, body ?? null]);
}
