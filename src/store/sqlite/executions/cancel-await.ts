import { decideCancelAwait } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, AwaitCommand } from '../../contract/await-store.ts';
import type { Transaction } from '../transaction.ts';
import { obeyAwait } from './awaits.ts';

export function cancelAwait(tx: Transaction, request: AwaitCommand): AwaitAnswer {
  return obeyAwait(tx, request, decideCancelAwait);
}
