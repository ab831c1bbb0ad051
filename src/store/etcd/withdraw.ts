import type { Withdraw, Withdrawn } from '../../lease/port.ts';
import type { Database } from './database.ts';

export async function withdraw(database: Database, request: Withdraw): Promise<Withdrawn> {
  const { result } = await database.write(async (tx) => {
    const ticket = tx.keys.ticket(request.key, request.attempt);
    await tx.load([ticket]);
    const wasQueued = tx.get(ticket) !== undefined;
    if (wasQueued) tx.delete(ticket);
    return wasQueued;
  }, 'etcd');
  return { kind: 'withdrawn', wasQueued: result };
}
