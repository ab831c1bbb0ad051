import {
  type DeadLetter,
  type DeadLetterGroup,
  type DeadLetterRecord,
  storable,
} from '../../../execution/dead-letter.ts';
import { type ExecutionRecord, isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { GroupDeadLetters, ListDeadLetters } from '../../contract/repair-store.ts';
import { type ExecutionState, firstFrom } from './state.ts';

/** Y-10: in the step that ends the execution. */
export function writeDeadLetter(
  state: ExecutionState,
  ended: ExecutionRecord,
  letter: DeadLetter,
): void {
  const { id, project, pipeline, release, status, endedAt } = ended;
  if (!isTerminal(status) || endedAt === undefined) return;
  const { category, code, reason, step, attempts } = storable(letter);
  state.putDeadLetter({
    execution: id,
    project,
    pipeline,
    ...(release === undefined ? {} : { release }),
    status,
    at: endedAt,
    category,
    code,
    reason,
    ...(step === undefined ? {} : { step }),
    attempts,
  });
}

export function deadLetter(state: ExecutionState, id: ExecutionId): DeadLetterRecord | undefined {
  return state.deadLetters.get(id);
}

export function deadLetters(
  state: ExecutionState,
  query: ListDeadLetters,
): readonly DeadLetterRecord[] {
  const ids = state.deadLetterIds.get(query.project) ?? [];
  const found: DeadLetterRecord[] = [];
  const end = query.before === undefined ? ids.length : firstFrom(ids, query.before);
  for (let place = end - 1; place >= 0 && found.length < query.limit; place -= 1) {
    const id = ids[place];
    const letter = id === undefined ? undefined : state.deadLetters.get(id);
    if (letter !== undefined && isWanted(letter, query)) found.push(letter);
  }
  return found;
}

function isWanted(letter: DeadLetterRecord, query: ListDeadLetters): boolean {
  const { pipeline, code, step, open } = query;
  return (
    (pipeline === undefined || pipeline === letter.pipeline) &&
    (code === undefined || code === letter.code) &&
    (step === undefined || step === letter.step) &&
    (open === undefined || open === (letter.redrivenBy === undefined))
  );
}

/** The most frequent first; of equals, that with the newest. */
export function deadLetterGroups(
  state: ExecutionState,
  { project, open = false }: GroupDeadLetters,
): readonly DeadLetterGroup[] {
  const letters = (state.deadLetterIds.get(project) ?? [])
    .map((id) => state.deadLetters.get(id))
    .filter((letter) => letter !== undefined)
    .filter(({ redrivenBy }) => !open || redrivenBy === undefined);
  const groups = Map.groupBy(letters, ({ pipeline, step, code }) =>
    JSON.stringify([pipeline, step, code]),
  );
  return [...groups.values()]
    .flatMap((of) => of.slice(0, 1).map((first) => groupOf(first, of)))
    .sort((a, b) => b.count - a.count || b.at - a.at);
}

function groupOf(
  { pipeline, code, step }: DeadLetterRecord,
  of: readonly DeadLetterRecord[],
): DeadLetterGroup {
  const at = of.map((letter) => letter.at).reduce((a, b) => (a > b ? a : b));
  return { pipeline, code, ...(step === undefined ? {} : { step }), count: of.length, at };
}
