import type { HistoryEvent } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { ReadHistory, WholeHistory } from '../../contract/execution-store.ts';
import type { ExecutionState } from './state.ts';

export function history(state: ExecutionState, query: ReadHistory): readonly HistoryEvent[] {
  return state.entries.get(query.id)?.history.slice(query.after, query.after + query.limit) ?? [];
}

export function histories(
  state: ExecutionState,
  ids: readonly ExecutionId[],
): readonly WholeHistory[] {
  return [...new Set(ids)].flatMap((id) => {
    const found = state.entries.get(id);
    return found === undefined ? [] : [{ id, events: [...found.history] }];
  });
}
