import { decideCancelAwait } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, AwaitCommand } from '../../contract/await-store.ts';
import type { Transaction } from '../transaction.ts';
import { obeyAwait } from './awaits.ts';
import { awaitView } from './load-await.ts';

export function cancelAwait(tx: Transaction, request: AwaitCommand): AwaitAnswer {
  return obeyAwait(tx, decideCancelAwait(awaitView(tx, request.id), request, tx.now));
}
