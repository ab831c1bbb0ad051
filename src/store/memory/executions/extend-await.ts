import { decideExtend } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, ExtendAwait } from '../../contract/await-store.ts';
import { commandViewOf, obeyAwait } from './awaits.ts';
import type { ExecutionState } from './state.ts';

export function extendAwait(state: ExecutionState, request: ExtendAwait): AwaitAnswer {
  const now = state.kernel.now();
  return obeyAwait(state, decideExtend(commandViewOf(state, request.id), request, now), now);
}
