import type { HistoryEvent } from '../../../execution/history.ts';
import type { ReadHistory } from '../../contract/execution-store.ts';
import type { ExecutionState } from './state.ts';

export function history(state: ExecutionState, query: ReadHistory): readonly HistoryEvent[] {
  return state.entries.get(query.id)?.history.slice(query.after, query.after + query.limit) ?? [];
}
