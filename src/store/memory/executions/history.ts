import type { HistoryEvent } from '../../../execution/history.ts';
import type { ReadHistories, ReadHistory, WholeHistory } from '../../contract/execution-store.ts';
import type { ExecutionState } from './state.ts';

export function history(state: ExecutionState, query: ReadHistory): readonly HistoryEvent[] {
  return state.entries.get(query.id)?.history.slice(query.after, query.after + query.limit) ?? [];
}

export function histories(
  state: ExecutionState,
  { ids, bytesMax }: ReadHistories,
): readonly WholeHistory[] {
  const found: WholeHistory[] = [];
  let bytes = 0;
  for (const id of new Set(ids)) {
    const events = state.entries.get(id)?.history ?? [];
    bytes += events.reduce((sum, { body = '' }) => sum + Buffer.byteLength(body), 0);
    if (bytes > bytesMax) break;
    if (events.length > 0) found.push({ id, events: [...events] });
  }
  return found;
}
