import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { ExecutionState } from './state.ts';

export function readExecution(state: ExecutionState, id: ExecutionId): ExecutionRecord | undefined {
  return state.entries.get(id)?.execution;
}

export function readMany(
  state: ExecutionState,
  ids: readonly ExecutionId[],
): readonly ExecutionRecord[] {
  return [...new Set(ids)].flatMap((id) => readExecution(state, id) ?? []);
}
