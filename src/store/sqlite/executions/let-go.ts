// How an owner lets go of an execution: its row changes under guard, then its last events are appended.

import type { OwnerWrite } from '../../contract/execution-store.ts';
import type { Transaction } from '../transaction.ts';
import { appendFrom, carry, isOpen, lastSeqAfter, ownedRow } from './owner.ts';

interface LetGo {
  /** Its parameters: `before`, then seq, rowId, fence, session, open, then `after`. */
  readonly sql: string;
  readonly before: readonly (number | null)[];
  readonly after?: readonly number[];
}

/** False when the owner was not let. */
export function letGo(
  tx: Transaction,
  request: OwnerWrite,
  { sql, before, after = [] }: LetGo,
): boolean {
  const { id, fence, session } = request;
  const rowId = ownedRow(tx, request);
  if (rowId === undefined) return false;
  const seq = lastSeqAfter(tx, request);
  const { changes } = tx
    .statement(sql)
    .run(...before, seq, rowId, fence, session, isOpen(tx, session), ...after);
  if (changes !== 1) return false;
  appendFrom(tx, request, { rowId, index: 0 });
  tx.connection.dropTail(id);
  carry(tx, rowId, request);
  return true;
}
