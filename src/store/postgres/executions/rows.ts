// Executions as statements of this store read and write them whole.

import type { HistoryEvent } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { ExecutionRow } from '../../execution-rows.ts';
import { EXECUTION_COLUMNS as COLUMNS } from '../../sql/executions.ts';
import { type Queries, statement } from '../database.ts';
import { eventColumns } from './items.ts';

/** All columns of `e`. */
export const EXECUTION_COLUMNS: string = COLUMNS.postgres;

export type StoredRow = ExecutionRow & { readonly now: number };

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
