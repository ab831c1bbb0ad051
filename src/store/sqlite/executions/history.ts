import type { HistoryEvent } from '../../../execution/history.ts';
import type { ReadHistories, ReadHistory, WholeHistory } from '../../contract/execution-store.ts';
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
