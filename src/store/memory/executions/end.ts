// All that an end does, whoever brings it about.

import type { DeadLetter } from '../../../execution/dead-letter.ts';
import { CANCELLED_OUTCOME } from '../../../execution/decide/command.ts';
import { type ExecutionRecord, isTerminal } from '../../../execution/execution.ts';
import type { HistoryEvent } from '../../../execution/history.ts';
import type { Payload } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { closeAwaits } from './awaits.ts';
import { writeDeadLetter } from './dead-letters.ts';
import { tellParent } from './deliver.ts';
import { freePlace } from './gates.ts';
import type { Entry, ExecutionState } from './state.ts';
import { type Continued, follow } from './successor.ts';

export interface End {
  readonly execution: ExecutionRecord;
  readonly events: readonly HistoryEvent[];
  readonly outcome?: Payload;
  readonly continued?: Continued;
  readonly deadLetter?: DeadLetter;
}

export function endExecution(
  state: ExecutionState,
  entry: Entry,
  { end, now }: { readonly end: End; readonly now: Instant },
): void {
  const before = entry.execution;
  state.append(entry, end.events);
  if (end.deadLetter !== undefined) writeDeadLetter(state, end.execution, end.deadLetter);
  closeAwaits(state, before.id, now);
  state.put(entry, end.execution);
  const { continued } = end;
  const next = continued === undefined ? undefined : follow(state, { entry, before }, continued);
  if (next?.hasPlace !== true) freePlace(state, before, now);
  if (next?.cancelled !== undefined) {
    const { execution, event } = next.cancelled;
    const cancelled = { execution, events: [event], outcome: CANCELLED_OUTCOME };
    endExecution(state, next.entry, { end: cancelled, now });
  }
  const { parent, project } = before;
  // Whoever goes on in its place tells the parent when it ends.
  if (parent !== undefined && continued === undefined) {
    tellParent(state, { parent, project, outcome: end.outcome }, now);
  }
  for (const child of state.children.get(before.id) ?? []) {
    const status = state.entries.get(child)?.execution.status;
    if (status !== undefined && !isTerminal(status)) state.orphans.add(child);
  }
  state.ring();
}
