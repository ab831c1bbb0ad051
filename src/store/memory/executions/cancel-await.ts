import { decideCancelAwait } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, AwaitCommand } from '../../contract/await-store.ts';
import { commandViewOf, obeyAwait } from './awaits.ts';
import type { ExecutionState } from './state.ts';

export function cancelAwait(state: ExecutionState, request: AwaitCommand): AwaitAnswer {
  const now = state.kernel.now();
  return obeyAwait(state, decideCancelAwait(commandViewOf(state, request.id), request, now), now);
}
