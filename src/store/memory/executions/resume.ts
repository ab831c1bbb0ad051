import { decideResume } from '../../../execution/decide/command.ts';
import type { Command, CommandAnswer } from '../../contract/execution-store.ts';
import { commandView, obey } from './command.ts';
import type { ExecutionState } from './state.ts';

export function resume(state: ExecutionState, request: Command): CommandAnswer {
  const now = state.kernel.now();
  const decision = decideResume(commandView(state, request.id), request, now);
  return obey(state, decision, { request, now });
}
