import type { SessionId } from '../../lease/names.ts';
import { toNumber } from './connection.ts';
import type { Transaction } from './transaction.ts';

/** Something happened to a lease of this session that its holder must look at (S-2). */
export async function notify(tx: Transaction, session: SessionId): Promise<void> {
  const key = tx.keys.notices(session);
  await tx.load([key]);
  tx.put(key, String((toNumber(tx.get(key)) ?? 0) + 1));
}
