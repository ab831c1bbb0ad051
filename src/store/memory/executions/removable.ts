import { isTerminal } from '../../../execution/execution.ts';
import type { Removable } from '../../../execution/retention.ts';
import type { ListRemovable, RemovablePage } from '../../contract/retention-store.ts';
import { viewOf } from './remove.ts';
import type { ExecutionState } from './state.ts';

/** F-8. */
export function removable(state: ExecutionState, query: ListRemovable): RemovablePage {
  const { project, endedMs, after = '', before = '~', limit } = query;
  const now = state.kernel.now();
  const page = [...state.entries.keys()]
    .filter((id) => id > after && id < before)
    .filter((id) => project === undefined || state.entries.get(id)?.execution.project === project)
    .sort()
    .slice(0, limit);
  const items = page.flatMap((id): readonly Removable[] => {
    const entry = state.entries.get(id);
    if (entry === undefined) return [];
    const { status, endedAt, project: of } = entry.execution;
    if (endedAt === undefined || !isTerminal(status) || endedAt + endedMs > now) return [];
    const { isHeld, isNeeded, hasOpenLetter } = viewOf(state, id);
    return isHeld || isNeeded ? [] : [{ id, project: of, status, endedAt, hasOpenLetter }];
  });
  const last = page.length < limit ? undefined : page.at(-1);
  return { items, now, ...(last === undefined ? {} : { next: last }) };
}
