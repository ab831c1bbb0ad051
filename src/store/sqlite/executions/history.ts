import type { HistoryEvent } from '../../../execution/history.ts';
import type { ReadHistory } from '../../contract/execution-store.ts';
import { type HistoryRow, toHistoryEvent } from '../../execution-rows.ts';
import type { ReadTransaction } from '../transaction.ts';

const PAGE = `
  select seq, at, fence, kind, name, body
    from history
   where row_id = (select row_id from execution where id = :id)
     and seq > :after
   order by seq
   limit :limit`;

export function history(tx: ReadTransaction, query: ReadHistory): readonly HistoryEvent[] {
  const { id, after, limit } = query;
  return tx.all<HistoryRow>(PAGE, { id, after, limit }).map(toHistoryEvent);
}
