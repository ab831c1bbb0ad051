import { decideAssign } from '../../../execution/decide/await.ts';
import type { AssignAwait, AwaitAnswer } from '../../contract/await-store.ts';
import type { Transaction } from '../transaction.ts';
import { obeyAwait } from './awaits.ts';

export function assignAwait(tx: Transaction, request: AssignAwait): AwaitAnswer {
  return obeyAwait(tx, request, decideAssign);
}
