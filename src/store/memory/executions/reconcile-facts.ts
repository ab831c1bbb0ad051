// What is looked at when rows are compared with each other (Z-2).

import { isSettled } from '../../../execution/await.ts';
import type {
  ExecutionFacts,
  LetterFacts,
  PlaceFacts,
  ScheduleFacts,
  WaitingFacts,
} from '../../../execution/decide/reconcile.ts';
import { type ExecutionRecord, isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId, ProjectName } from '../../../execution/names.ts';
import { assert } from '../../../support/assert.ts';
import { type Entry, type ExecutionState, inProject, type ScheduleEntry } from './state.ts';

export function waitingFacts(state: ExecutionState, entry: Entry): WaitingFacts {
  const { execution, inbox } = entry;
  const { id, project, pipeline, readyAt, wakeAfter, compensating, news, parent } = execution;
  const parked = entry.history.findLast(({ kind }) => kind === 'parked');
  const units = [...(state.awaits.get(id)?.values() ?? [])].flatMap(({ unit, ids }) =>
    unit === undefined ? [] : [{ unit, ids: [...ids] }],
  );
  const told = (of: string): ReadonlySet<string | undefined> =>
    new Set(inbox.filter(({ kind }) => kind === of).map(({ name }) => name));
  const children = childrenOf(state, execution);
  const open = children.filter(({ status }) => !isTerminal(status));
  const openCalls = new Set(open.map((child) => child.parent?.call));
  const [settledTold, childTold] = [told('await-settled'), told('child-ended')];
  const above = parent === undefined ? undefined : state.entries.get(parent.id)?.execution;
  return {
    ...{ execution: id, project, pipeline, readyAt, wakeAfter, compensating, news },
    parkedAt: parked?.at,
    parkedBody: parked?.body,
    newest: inbox.at(-1),
    isAsking: units.some(({ unit, ids }) => {
      if (isSettled(unit)) return false;
      const isOpen = ids.some((each) => state.interactions.get(each)?.status === 'open');
      return isOpen || unit.nextAt !== undefined;
    }),
    children: children.length,
    openChildren: open.length,
    untoldUnit: units.find(({ unit }) => isSettled(unit) && !settledTold.has(unit.call))?.unit.call,
    untoldChild: children
      .map((child) => child.parent?.call)
      .find((call) => call !== undefined && !openCalls.has(call) && !childTold.has(call)),
    isLeftBehind:
      above !== undefined &&
      isTerminal(above.status) &&
      !state.orphans.has(id) &&
      !inbox.some(({ kind }) => kind === 'cancel'),
  };
}

/** Of its own project: no other's end is told. */
function childrenOf(
  state: ExecutionState,
  { id, project }: ExecutionRecord,
): readonly ExecutionRecord[] {
  return (state.children.get(id) ?? []).flatMap((child) => {
    const execution = state.entries.get(child)?.execution;
    return execution?.project === project ? [execution] : [];
  });
}

/** Of every key, by the name under which its book is kept. */
export function placeFacts(state: ExecutionState): ReadonlyMap<string, PlaceFacts> {
  const facts = new Map<string, Draft>();
  for (const [name, { limit: slots, taken }] of state.places) {
    const [project = '', key = ''] = name.split('\0');
    const of = { project: project as ProjectName, key, slots, taken };
    facts.set(name, { ...of, held: 0, isWanted: false });
  }
  for (const { execution } of state.entries.values()) {
    const { project, concurrency, hasPlace, gated, holds } = execution;
    const of = facts.get(inProject(project, concurrency?.key ?? ''));
    if (concurrency === undefined || of === undefined) continue;
    if (hasPlace) of.held += 1;
    of.isWanted ||= gated && holds.join() === 'behind-key';
  }
  return facts;
}

type Draft = { -readonly [Part in keyof PlaceFacts]: PlaceFacts[Part] };

export function letterFacts(state: ExecutionState, id: ExecutionId): LetterFacts {
  const letter = state.deadLetters.get(id);
  assert(letter !== undefined, 'Y-10: the letter is one that is kept');
  const { project, pipeline, status, redrivenBy } = letter;
  const by = redrivenBy === undefined ? undefined : state.entries.get(redrivenBy)?.execution;
  return {
    ...{ execution: id, project, pipeline, status, redrivenBy },
    actual: state.entries.get(id)?.execution.status,
    isRedrive: by?.redriveOf === id,
  };
}

export function scheduleFacts({ schedule }: ScheduleEntry): ScheduleFacts {
  const { project, id, paused, nextAt } = schedule;
  return { project, id, paused, hasNext: nextAt !== undefined };
}

export function executionFacts(state: ExecutionState, id: ExecutionId): ExecutionFacts {
  const entry = state.entries.get(id);
  assert(entry !== undefined, 'X-22: what is listed is kept');
  const { project, pipeline, status, seq, readyAt } = entry.execution;
  return {
    ...{ execution: id, project, pipeline, status, seq },
    hasTime: readyAt !== undefined,
    hasLetter: state.deadLetters.has(id),
    last: entry.history.at(-1),
  };
}
