import { decideCancel } from '../../../execution/decide/command.ts';
import type { Cancel, CommandAnswer } from '../../contract/execution-store.ts';
import { commandView, obey } from './command.ts';
import { onceOfJob } from './jobs.ts';
import type { ExecutionState } from './state.ts';

export function cancel(state: ExecutionState, request: Cancel): CommandAnswer {
  const now = state.kernel.now();
  return onceOfJob(state, { job: request.job, target: request.id }, () =>
    obey(state, decideCancel(commandView(state, request.id), request, now), { request, now }),
  );
}
