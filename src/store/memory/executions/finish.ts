import { decideFinish } from '../../../execution/decide/owner.ts';
import type { Finish, Finished } from '../../contract/execution-store.ts';
import { endExecution } from './end.ts';
import { carry, entryOf, ownerView, refused } from './owner.ts';
import type { ExecutionState } from './state.ts';

export function finish(state: ExecutionState, request: Finish): Finished {
  const now = state.kernel.now();
  const decision = decideFinish(ownerView(state, request, request.events.length), request, now);
  if (decision.kind === 'refuse') return refused(state, decision.refusal);
  if (decision.kind === 'replay') {
    return { kind: 'finished', at: decision.execution.endedAt ?? decision.at };
  }
  const { execution, events } = decision;
  const { outcome, successor, deadLetter } = request;
  const entry = entryOf(state, request);
  carry(state, entry, { request, now });
  const end = {
    execution,
    events,
    ...(outcome === undefined ? {} : { outcome }),
    ...(successor === undefined ? {} : { continued: { ...request, as: successor } }),
    ...(deadLetter === undefined ? {} : { deadLetter }),
  };
  endExecution(state, entry, { end, now });
  return { kind: 'finished', at: now };
}
