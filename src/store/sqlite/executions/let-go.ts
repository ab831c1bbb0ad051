// How an owner lets go of an execution: its row changes under guard, then its last events are appended.

import type { OwnerWrite } from '../../contract/execution-store.ts';
import type { Transaction } from '../transaction.ts';
import { appendFrom, carry } from './owner.ts';

/** After the guarded change of the row. */
export function letGo(tx: Transaction, rowId: number, request: OwnerWrite): void {
  appendFrom(tx, request, { rowId, index: 0 });
  tx.connection.dropTail(request.id);
  carry(tx, rowId, request);
}
