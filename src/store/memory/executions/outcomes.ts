import { isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Outcome } from '../../contract/execution-store.ts';
import type { ExecutionState } from './state.ts';

export function outcomes(state: ExecutionState, ids: readonly ExecutionId[]): readonly Outcome[] {
  return [...new Set(ids)].flatMap((id): readonly Outcome[] => {
    const entry = state.entries.get(id);
    const event = entry?.history.at(-1);
    if (entry === undefined || event === undefined) return [];
    const { status, endedAt } = entry.execution;
    if (!isTerminal(status) || endedAt === undefined) return [];
    return [{ id, status, endedAt, event }];
  });
}
