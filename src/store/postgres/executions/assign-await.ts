import { decideAssign } from '../../../execution/decide/await.ts';
import type { AssignAwait, AwaitAnswer } from '../../contract/await-store.ts';
import { commandAwait } from './command-await.ts';
import type { Parts } from './parts.ts';

export function assignAwait(parts: Parts, request: AssignAwait): Promise<AwaitAnswer> {
  return commandAwait(parts, request, {
    settles: false,
    decide: (view, now) => decideAssign(view, request, now),
  });
}
