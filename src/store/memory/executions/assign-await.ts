import { decideAssign } from '../../../execution/decide/await.ts';
import type { AssignAwait, AwaitAnswer } from '../../contract/await-store.ts';
import { commandViewOf, obeyAwait } from './awaits.ts';
import type { ExecutionState } from './state.ts';

export function assignAwait(state: ExecutionState, request: AssignAwait): AwaitAnswer {
  const now = state.kernel.now();
  return obeyAwait(state, decideAssign(commandViewOf(state, request.id), request, now), now);
}
