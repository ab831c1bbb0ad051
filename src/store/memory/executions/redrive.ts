import { changedByRedrive } from '../../../execution/decide/audit.ts';
import { decideRedrive } from '../../../execution/decide/redrive.ts';
import { isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Redrive, RedriveAnswer } from '../../contract/repair-store.ts';
import { writeAudit } from './audit.ts';
import { noteLimit } from './gates.ts';
import { onceOfJob } from './jobs.ts';
import type { ExecutionState } from './state.ts';
import { refuseRelease } from './submit.ts';

export function redrive(state: ExecutionState, request: Redrive): RedriveAnswer {
  const item = { job: request.job, target: request.of };
  return onceOfJob(state, item, () => redriveOnce(state, request));
}

function redriveOnce(state: ExecutionState, request: Redrive): RedriveAnswer {
  const view = {
    of: state.entries.get(request.of)?.execution,
    open: openRedrive(state, request.of),
    byId: state.entries.get(request.submit.id)?.execution,
  };
  const now = state.kernel.now();
  const refusal = refuseRelease(state, request.submit);
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  const decision = decideRedrive(view, structuredClone(request), now);
  writeAudit(state, request, { changed: changedByRedrive(view.of, decision), now });
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'existing') {
    return { kind: 'submitted', id: decision.id, existing: true };
  }
  const { execution, events } = decision;
  noteLimit(state, execution);
  // Given back: whoever claims it reads what it has of history.
  state.insert(execution, events, 'given-back');
  const letter = state.deadLetters.get(request.of);
  if (letter !== undefined) state.putDeadLetter({ ...letter, redrivenBy: execution.id });
  state.ring();
  return { kind: 'submitted', id: execution.id, existing: false };
}

/** Y-21. */
function openRedrive(state: ExecutionState, of: ExecutionId): ExecutionId | undefined {
  const id = state.redrives.get(of);
  const status = id === undefined ? undefined : state.entries.get(id)?.execution.status;
  return status === undefined || isTerminal(status) ? undefined : id;
}
