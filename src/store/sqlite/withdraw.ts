import type { Withdraw, Withdrawn } from '../../lease/port.ts';
import type { Transaction } from './transaction.ts';

const WITHDRAW = `
  delete from ticket
   where key = :key
     and attempt_id = :attempt -- guard: attempt
`;

export function withdraw(tx: Transaction, request: Withdraw): Withdrawn {
  const { key, attempt } = request;
  const wasQueued = tx.run(WITHDRAW, { key, attempt }) > 0;
  if (wasQueued) tx.hint(key);
  return { kind: 'withdrawn', wasQueued };
}
