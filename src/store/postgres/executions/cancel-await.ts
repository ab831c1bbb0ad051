import { decideCancelAwait } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, AwaitCommand } from '../../contract/await-store.ts';
import { commandAwait } from './command-await.ts';
import type { Parts } from './parts.ts';

export function cancelAwait(parts: Parts, request: AwaitCommand): Promise<AwaitAnswer> {
  return commandAwait(parts, request, {
    settles: true,
    decide: (view, now) => decideCancelAwait(view, request, now),
  });
}
