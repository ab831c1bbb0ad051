import type { Withdraw, Withdrawn } from '../../lease/port.ts';
import { type Database, statement } from './database.ts';

const WITHDRAW = statement(`
  delete from hf.ticket t
   where t.key = $1
     and t.attempt_id = $2 -- guard: attempt
  returning t.id`);

export async function withdraw(database: Database, request: Withdraw): Promise<Withdrawn> {
  const rows = await database.rows(WITHDRAW, [request.key, request.attempt]);
  return { kind: 'withdrawn', wasQueued: rows.length > 0 };
}
