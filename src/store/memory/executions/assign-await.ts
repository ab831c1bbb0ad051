import { decideAssign } from '../../../execution/decide/await.ts';
import type { AssignAwait, AwaitAnswer } from '../../contract/await-store.ts';
import { obeyAwait } from './awaits.ts';
import type { ExecutionState } from './state.ts';

export function assignAwait(state: ExecutionState, request: AssignAwait): AwaitAnswer {
  return obeyAwait(state, request, decideAssign);
}
