import type { HistoryEvent } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { ReadHistory, WholeHistory } from '../../contract/execution-store.ts';
import { type HistoryRow, toHistoryEvent } from '../../execution-rows.ts';
import type { ReadTransaction } from '../transaction.ts';

// `+ 0`, as in ready-rows.ts: a bare parameter would be planned for at every call.
const PAGE = `
  select seq, at, fence, kind, name, body
    from history
   where row_id = (select row_id from execution where id = :id)
     and seq > :after
   order by seq
   limit :limit + 0`;

export function history(tx: ReadTransaction, query: ReadHistory): readonly HistoryEvent[] {
  const { id, after, limit } = query;
  return tx.all<HistoryRow>(PAGE, { id, after, limit }).map(toHistoryEvent);
}

export function histories(
  tx: ReadTransaction,
  ids: readonly ExecutionId[],
): readonly WholeHistory[] {
  return [...new Set(ids)].flatMap((id) => {
    const events = history(tx, { id, after: 0, limit: Number.MAX_SAFE_INTEGER });
    return events.length === 0 ? [] : [{ id, events }];
  });
}
