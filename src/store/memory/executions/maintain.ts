import { decideCancel } from '../../../execution/decide/command.ts';
import { decideOverdue, PARENT_ENDED } from '../../../execution/decide/overdue.ts';
import { isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Command, Maintain, Maintained } from '../../contract/execution-store.ts';
import { commandView, obey } from './command.ts';
import { endExecution } from './end.ts';
import { nextSchedule } from './fire-schedule.ts';
import { forgetKeys } from './forget-keys.ts';
import type { ExecutionState } from './state.ts';

export function maintain(state: ExecutionState, { limit }: Maintain): Maintained {
  const now = state.kernel.now();
  const overdue: ExecutionId[] = [];
  for (let id = nextOverdue(state, now); id !== undefined; id = nextOverdue(state, now)) {
    if (overdue.length >= limit) break;
    endOverdue(state, id, now);
    overdue.push(id);
  }
  let cancelled = 0;
  for (let id = nextOrphan(state); id !== undefined; id = nextOrphan(state)) {
    if (cancelled >= limit) break;
    if (askToCancel(state, id, now)) cancelled += 1;
  }
  const more = nextOverdue(state, now) !== undefined || nextOrphan(state) !== undefined;
  const forgotten = forgetKeys(state, limit);
  return { overdue, cancelled, forgotten, more, ...nextSchedule(state) };
}

/** Drops what has ended, and what runs: that comes back into the heap when it is let go. */
function nextOverdue(state: ExecutionState, now: Instant): ExecutionId | undefined {
  const { deadlines } = state;
  for (let due = deadlines.peek(); due !== undefined && due.at <= now; due = deadlines.peek()) {
    const execution = state.entries.get(due.id)?.execution;
    if (execution !== undefined && decideOverdue(execution, now) !== undefined) return due.id;
    deadlines.pop();
  }
  return undefined;
}

function endOverdue(state: ExecutionState, id: ExecutionId, now: Instant): void {
  const entry = state.entries.get(id);
  const decision = entry === undefined ? undefined : decideOverdue(entry.execution, now);
  if (entry === undefined || decision === undefined) return;
  const { execution, event } = decision;
  if (decision.kind === 'end') {
    const { outcome, deadLetter } = decision;
    endExecution(state, entry, { end: { execution, events: [event], outcome, deadLetter }, now });
  } else {
    state.append(entry, [event]);
    state.put(entry, execution);
    state.ring();
  }
}

function nextOrphan(state: ExecutionState): ExecutionId | undefined {
  for (const id of state.orphans) {
    const entry = state.entries.get(id);
    if (entry !== undefined && !isTerminal(entry.execution.status)) return id;
    state.orphans.delete(id);
  }
  return undefined;
}

/** Asked once: a running child that knows is left to its owner. */
function askToCancel(state: ExecutionState, id: ExecutionId, now: Instant): boolean {
  state.orphans.delete(id);
  const view = commandView(state, id);
  if (view.execution === undefined) return false;
  const { project } = view.execution;
  const request: Command = { id, project, body: PARENT_ENDED };
  const answer = obey(state, decideCancel(view, request, now), { request, now });
  return answer.kind === 'done' || answer.kind === 'passed-on';
}
