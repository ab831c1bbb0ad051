import { decideSignal } from '../../../execution/decide/command.ts';
import type { CommandAnswer, Signal } from '../../contract/execution-store.ts';
import { commandView, obey } from './command.ts';
import type { ExecutionState } from './state.ts';

export function signal(state: ExecutionState, request: Signal): CommandAnswer {
  const now = state.kernel.now();
  const decision = decideSignal(commandView(state, request.id), request, now);
  return obey(state, decision, { request, now });
}
