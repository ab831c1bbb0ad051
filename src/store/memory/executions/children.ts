import type { ChildSummary, ListChildren } from '../../contract/execution-store.ts';
import { type ExecutionState, firstFrom } from './state.ts';

export function children(state: ExecutionState, query: ListChildren): readonly ChildSummary[] {
  const ids = state.children.get(query.parent) ?? [];
  const { after } = query;
  const start = after === undefined ? 0 : firstFrom(ids, after);
  return ids
    .slice(start, start + query.limit + 1)
    .filter((id) => id !== after)
    .slice(0, query.limit)
    .flatMap((id) => {
      const execution = state.entries.get(id)?.execution;
      if (execution === undefined) return [];
      const { pipeline, status } = execution;
      return [{ id, pipeline, status }];
    });
}
