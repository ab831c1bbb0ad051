import { isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import {
  archivedOf,
  decideRemove,
  namedBy,
  type RemoveRequest,
  type RemoveView,
  type SeenOfEnded,
} from '../../../execution/retention.ts';
import type { Removal } from '../../contract/retention-store.ts';
import { keepArchived } from './archived.ts';
import { type Entry, type ExecutionState, inProject } from './state.ts';

export function remove(state: ExecutionState, request: RemoveRequest): Removal {
  const { id, archived } = request;
  const now = state.kernel.now();
  const decision = decideRemove(viewOf(state, id), request, now);
  const entry = state.entries.get(id);
  if (decision.kind === 'kept' || entry === undefined) return keptBy(decision);
  if (archived !== undefined) {
    keepArchived(state, archivedOf(entry.execution, archived, now));
  }
  forget(state, entry);
  return { kind: 'removed' };
}

function keptBy(decision: ReturnType<typeof decideRemove>): Removal {
  return decision.kind === 'kept' ? decision : { kind: 'kept', why: 'unknown' };
}

export function viewOf(state: ExecutionState, id: ExecutionId): RemoveView {
  const entry = state.entries.get(id);
  const letter = state.deadLetters.get(id);
  return {
    execution: entry?.execution,
    hasOpenLetter: letter !== undefined && letter.redrivenBy === undefined,
    seen: seenOf(state, id),
    isHeld: entry !== undefined && isHeld(state, entry),
    isNeeded: entry !== undefined && isNeeded(state, entry),
  };
}

function seenOf(state: ExecutionState, id: ExecutionId): SeenOfEnded {
  const ids = [...(state.awaits.get(id)?.values() ?? [])].flatMap((unit) => [...unit.ids]);
  const late = ids.reduce((sum, each) => sum + (state.interactions.get(each)?.late ?? 0), 0);
  const redrivenBy = state.deadLetters.get(id)?.redrivenBy;
  return { late, ...(redrivenBy === undefined ? {} : { redrivenBy }) };
}

/** F-2: what made it is still there. */
function isHeld(state: ExecutionState, { execution, history }: Entry): boolean {
  const continues = namedBy(history[0]?.body, 'continues');
  return [execution.parent?.id, execution.redriveOf, continues].some(
    (id) => id !== undefined && state.entries.has(id),
  );
}

/** F-2: what it made is open. */
function isNeeded(state: ExecutionState, { execution: { id }, history }: Entry): boolean {
  const continuedAs = namedBy(history.at(-1)?.body, 'continuedAs');
  return [...(state.children.get(id) ?? []), state.redrives.get(id), continuedAs].some((made) => {
    const status = made === undefined ? undefined : state.entries.get(made)?.execution.status;
    return status !== undefined && !isTerminal(status);
  });
}

/** F-4. */
function forget(state: ExecutionState, { execution }: Entry): void {
  const { id, project, key, parent, redriveOf } = execution;
  state.entries.delete(id);
  if (key !== undefined && state.keys.get(inProject(project, key)) === id) {
    state.keys.delete(inProject(project, key));
  }
  drop(state.ids.get(project), id);
  if (parent !== undefined) drop(state.children.get(parent.id), id);
  if (redriveOf !== undefined && state.redrives.get(redriveOf) === id) {
    state.redrives.delete(redriveOf);
  }
  for (const { ids } of state.awaits.get(id)?.values() ?? []) {
    for (const interaction of ids) {
      state.interactions.delete(interaction);
      state.lateAnswers.delete(interaction);
      drop(state.interactionIds.get(project), interaction);
    }
  }
  state.awaits.delete(id);
  if (state.deadLetters.delete(id)) drop(state.deadLetterIds.get(project), id);
  state.jobs.delete(id);
}

function drop<Id extends string>(ids: Id[] | undefined, id: Id): void {
  const place = ids?.indexOf(id) ?? -1;
  if (place >= 0) ids?.splice(place, 1);
}
