// All that an end does, whoever brings it about.

import { unset } from '../../../execution/decide/record.ts';
import { decideSuccessor } from '../../../execution/decide/submit.ts';
import { type ExecutionRecord, isTerminal } from '../../../execution/execution.ts';
import type { HistoryEvent } from '../../../execution/history.ts';
import type { Payload } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Submit } from '../../contract/execution-store.ts';
import { tellParent } from './deliver.ts';
import { freePlace, noteLimit } from './gates.ts';
import type { Entry, ExecutionState } from './state.ts';

export interface End {
  readonly execution: ExecutionRecord;
  readonly events: readonly HistoryEvent[];
  readonly outcome?: Payload;
  readonly successor?: Submit;
}

export function endExecution(
  state: ExecutionState,
  entry: Entry,
  { end, now }: { readonly end: End; readonly now: Instant },
): void {
  const before = entry.execution;
  state.append(entry, end.events);
  const isFollowed = end.successor !== undefined && !state.entries.has(end.successor.id);
  // The key goes to the successor: two executions with one key could not be told apart.
  state.put(entry, isFollowed ? unset(end.execution, 'key', 'intent') : end.execution);
  const placeTaken = isFollowed && insertSuccessor(state, before, { submit: end.successor, now });
  if (!placeTaken) freePlace(state, before, now);
  const { parent } = before;
  // Whoever goes on in its place tells the parent when it ends.
  if (parent !== undefined && end.successor === undefined) {
    const outcome = end.outcome === undefined ? {} : { outcome: end.outcome };
    tellParent(state, { ...parent, ...outcome }, now);
  }
  for (const child of state.children.get(before.id) ?? []) {
    const status = state.entries.get(child)?.execution.status;
    if (status !== undefined && !isTerminal(status)) state.orphans.add(child);
  }
  state.ring();
}

/** Whether it took the place over. */
function insertSuccessor(
  state: ExecutionState,
  ended: ExecutionRecord,
  { submit, now }: { readonly submit: Submit | undefined; readonly now: Instant },
): boolean {
  if (submit === undefined) return false;
  const { execution, event } = decideSuccessor(ended, structuredClone(submit), now);
  noteLimit(state, execution);
  state.insert(execution, event);
  return execution.hasPlace;
}
