import { decideExtend } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, ExtendAwait } from '../../contract/await-store.ts';
import { obeyAwait } from './awaits.ts';
import type { ExecutionState } from './state.ts';

export function extendAwait(state: ExecutionState, request: ExtendAwait): AwaitAnswer {
  return obeyAwait(state, request, decideExtend);
}
