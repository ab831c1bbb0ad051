import type { ExecutionId } from '../../../execution/names.ts';
import { type ArchivedExecution, wordsOf } from '../../../execution/retention.ts';
import type { ListArchived } from '../../contract/retention-store.ts';
import type { ExecutionState } from './state.ts';

export function keepArchived(state: ExecutionState, archived: ArchivedExecution): void {
  state.archived.set(archived.id, Object.freeze(archived));
}

export function archived(state: ExecutionState, id: ExecutionId): ArchivedExecution | undefined {
  return state.archived.get(id);
}

/** F-7. */
export function listArchived(
  state: ExecutionState,
  query: ListArchived,
): readonly ArchivedExecution[] {
  return [...state.archived.values()]
    .filter((each) => isWanted(each, query))
    .sort((a, b) => b.endedAt - a.endedAt || (a.id < b.id ? 1 : -1))
    .slice(0, query.limit);
}

function isWanted(each: ArchivedExecution, query: ListArchived): boolean {
  const { project, pipeline, status, tag, words = [], from, to, before } = query;
  const known = words.length === 0 ? [] : wordsOf(each.key ?? '');
  return (
    each.project === project &&
    (pipeline === undefined || each.pipeline === pipeline) &&
    (status === undefined || each.status === status) &&
    (tag === undefined || each.tags.includes(tag)) &&
    words.every((word) => known.includes(word)) &&
    (from === undefined || each.endedAt >= from) &&
    (to === undefined || each.endedAt < to) &&
    (before === undefined ||
      each.endedAt < before.endedAt ||
      (each.endedAt === before.endedAt && each.id < before.id))
  );
}
