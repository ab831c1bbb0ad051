// What the four commands share: the view, and what becomes of their decisions.

import type { Audited } from '../../../execution/audit.ts';
import { changedByCommand } from '../../../execution/decide/audit.ts';
import {
  askedBy,
  CANCELLED_OUTCOME,
  type CommandDecision,
  type CommandView,
} from '../../../execution/decide/command.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { CommandAnswer } from '../../contract/execution-store.ts';
import { writeAudit } from './audit.ts';
import { putMessage } from './deliver.ts';
import { endExecution } from './end.ts';
import type { ExecutionState } from './state.ts';

export function commandView(state: ExecutionState, id: ExecutionId): CommandView {
  const entry = state.entries.get(id);
  const asked = (): ReturnType<typeof askedBy> =>
    askedBy(entry?.inbox.map(({ kind }) => kind).reverse() ?? []);
  // Signals, of which there may be many, do not look.
  return {
    execution: entry?.execution,
    get cancelAsked() {
      return asked().cancelAsked;
    },
    get pauseAsked() {
      return asked().pauseAsked;
    },
  };
}

/** J-1: what is done, and that it was. */
export function obey(
  state: ExecutionState,
  decision: CommandDecision,
  { request, now }: { readonly request: Audited; readonly now: Instant },
): CommandAnswer {
  if (decision.kind !== 'refuse') {
    const before = state.entries.get(decision.execution.id)?.execution;
    writeAudit(state, request, { changed: changedByCommand(before, decision), now });
  }
  return carryOut(state, decision, now);
}

function carryOut(state: ExecutionState, decision: CommandDecision, now: Instant): CommandAnswer {
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  const { status } = decision.execution;
  const entry = state.entries.get(decision.execution.id);
  if (entry === undefined) throw new Error('a decision is about an execution that exists');
  if (decision.kind === 'no-change') return { kind: 'no-change', status };
  if (decision.kind === 'pass-on') {
    const { session } = decision.execution;
    putMessage(state, entry, decision);
    // The next heartbeat makes the holder look.
    if (decision.toOwner && session !== undefined) state.kernel.notify(session);
    return { kind: decision.toOwner ? 'passed-on' : 'done', status };
  }
  const { execution, event } = decision;
  if (decision.kind === 'end') {
    const end = { execution, events: [event], outcome: CANCELLED_OUTCOME };
    endExecution(state, entry, { end, now });
  } else {
    state.append(entry, [event]);
    state.put(entry, execution);
    if (decision.message !== undefined) entry.inbox.push(Object.freeze(decision.message));
    state.ring();
  }
  return { kind: 'done', status };
}
