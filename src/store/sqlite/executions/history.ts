import type { HistoryEvent } from '../../../execution/history.ts';
import type { Transaction } from '../transaction.ts';

const APPEND = `
  insert into history (row_id, seq, at, kind, name, body)
  select row_id, :seq, :at, :kind, :name, :body
    from execution
   where id = :id`;

/** An event of somebody who does not own the execution: nobody does, and the row's seq is exact. */
export function appendOutside(tx: Transaction, id: string, event: HistoryEvent): void {
  const { seq, at, kind, name, body } = event;
  tx.run(APPEND, { id, seq, at, kind, name: name ?? null, body: body ?? null });
}
