import { decideCancelAwait } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, AwaitCommand } from '../../contract/await-store.ts';
import { obeyAwait } from './awaits.ts';
import type { ExecutionState } from './state.ts';

export function cancelAwait(state: ExecutionState, request: AwaitCommand): AwaitAnswer {
  return obeyAwait(state, request, decideCancelAwait);
}
