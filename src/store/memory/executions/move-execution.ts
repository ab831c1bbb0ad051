import { changedByMove } from '../../../execution/decide/audit.ts';
import { decideMove } from '../../../release/decide/move.ts';
import type { ExecutionMoved, MoveExecution } from '../../contract/release-store.ts';
import { writeAudit } from './audit.ts';
import { onceOfJob } from './jobs.ts';
import { readRelease } from './releases.ts';
import type { ExecutionState } from './state.ts';

export function moveExecution(state: ExecutionState, request: MoveExecution): ExecutionMoved {
  return onceOfJob(state, { job: request.job, target: request.id }, () => move(state, request));
}

function move(state: ExecutionState, request: MoveExecution): ExecutionMoved {
  const { id, project, to } = request;
  const now = state.kernel.now();
  const entry = state.entries.get(id);
  const before = entry?.execution;
  const release =
    before === undefined
      ? undefined
      : readRelease(state, { project, pipeline: before.pipeline, name: to });
  const decision = decideMove({ execution: before, release }, request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'no-change' || entry === undefined || before === undefined) {
    return { kind: 'no-change', id, release: to };
  }
  writeAudit(state, request, { changed: changedByMove(before, decision.execution), now });
  state.append(entry, [decision.event]);
  state.put(entry, decision.execution);
  state.ring();
  return { kind: 'moved', id, release: to };
}
