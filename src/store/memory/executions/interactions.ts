import type { Answer, Interaction } from '../../../execution/await.ts';
import type {
  InteractionFound,
  ListInteractions,
  ReadInteraction,
} from '../../contract/await-store.ts';
import { unitOf } from './awaits.ts';
import { type ExecutionState, firstFrom } from './state.ts';

export function interaction(
  state: ExecutionState,
  { project, id }: ReadInteraction,
): InteractionFound | undefined {
  const found = state.interactions.get(id);
  if (found === undefined || found.project !== project) return undefined;
  return { interaction: found, unit: unitOf(state, found) };
}

/** W-10. */
export function interactions(
  state: ExecutionState,
  query: ListInteractions,
): readonly InteractionFound[] {
  const ids = state.interactionIds.get(query.project) ?? [];
  const found: InteractionFound[] = [];
  const end = query.before === undefined ? ids.length : firstFrom(ids, query.before);
  for (let place = end - 1; place >= 0 && found.length < query.limit; place -= 1) {
    const id = ids[place];
    const each = id === undefined ? undefined : state.interactions.get(id);
    if (each !== undefined && isWanted(state, each, query)) {
      found.push({ interaction: each, unit: unitOf(state, each) });
    }
  }
  return found;
}

function isWanted(state: ExecutionState, each: Interaction, query: ListInteractions): boolean {
  const { open, execution, call, assignee, name } = query;
  return (
    (open === undefined || open === (each.status === 'open')) &&
    (execution === undefined || execution === each.execution) &&
    (call === undefined || call === each.call) &&
    (assignee === undefined || assignee === each.assignee) &&
    (name === undefined || name === unitOf(state, each)?.name)
  );
}

/** W-5. */
export function lateAnswers(state: ExecutionState, query: ReadInteraction): readonly Answer[] {
  if (interaction(state, query) === undefined) return [];
  return state.lateAnswers.get(query.id) ?? [];
}
