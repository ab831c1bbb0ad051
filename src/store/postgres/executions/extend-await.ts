import { decideExtend } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, ExtendAwait } from '../../contract/await-store.ts';
import { commandAwait } from './command-await.ts';
import type { Parts } from './parts.ts';

export function extendAwait(parts: Parts, request: ExtendAwait): Promise<AwaitAnswer> {
  return commandAwait(parts, request, {
    settles: false,
    decide: (view, now) => decideExtend(view, request, now),
  });
}
