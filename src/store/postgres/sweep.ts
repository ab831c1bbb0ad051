import type { SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import { adoptServer } from './adopt-server.ts';
import { type Database, statement } from './database.ts';
import { deleteOld } from './delete-old.ts';
import { waiterLives } from './predicates.ts';
import { reclaim } from './reclaim.ts';
import { recordEnds } from './record-end.ts';

// What is listed is no evidence; reclaim looks again under the lock (E-2).
const OVERDUE = statement(`
  select s.id
    from hf.session s
   where s.ended_at is null
     and s.expires_at <= hf_now()
   order by s.expires_at, s.id
   limit $1`);

const DROP_TICKETS = statement(`
  delete from hf.ticket t
   where not (${waiterLives('t')})`);

export async function sweep(
  database: Database,
  policy: LeasePolicy,
  request: Sweep,
): Promise<Swept> {
  const { limit } = request;
  await adoptServer(database, policy);
  const overdue = await database.rows<{ id: SessionId }>(OVERDUE, [limit + 1]);
  const { expired, paused } = await reclaim(
    database,
    policy,
    overdue.slice(0, limit).map((row) => row.id),
  );
  const ended = await recordEnds(database, policy, limit);
  await database.rows(DROP_TICKETS, []);
  const deleted = await deleteOld(database, policy, limit);
  const more = overdue.length > limit || ended.length >= limit;
  return { expired, ended, deleted, paused, more };
}
