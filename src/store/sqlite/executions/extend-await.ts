import { decideExtend } from '../../../execution/decide/await.ts';
import type { AwaitAnswer, ExtendAwait } from '../../contract/await-store.ts';
import type { Transaction } from '../transaction.ts';
import { obeyAwait } from './awaits.ts';

export function extendAwait(tx: Transaction, request: ExtendAwait): AwaitAnswer {
  return obeyAwait(tx, request, decideExtend);
}
