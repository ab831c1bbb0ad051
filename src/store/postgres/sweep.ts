import type { SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import { adoptServer } from './adopt-server.ts';
import { type Database, statement } from './database.ts';
import { deleteOld } from './delete-old.ts';
import { placeIsOver, SAME_SERVER } from './predicates.ts';
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

// Every process sweeps, and nearly always there is nothing to sweep: one statement finds that out. It lists
// whatever any of the others below would touch; it may say yes too often, never too rarely.
const HAS_WORK = statement(`
  select not coalesce(${SAME_SERVER}, false)
      or exists (select from hf.session s where s.ended_at is null and s.expires_at <= hf_now())
      or exists (select from hf.lease l where l.ended_at is null and least(l.drain_deadline_at, l.hard_deadline_at) <= hf_now())
      or exists (
           select
             from hf.session e
             join hf.session h on e.id = any (h.path)
             join hf.lease l on l.session_id = h.id
            where e.ended_at is not null
              and l.ended_at is null)
      or exists (select from hf.lease l where l.ended_at is null and not exists (select from hf.session s where s.id = l.session_id))
      or exists (select from hf.ticket t where ${placeIsOver('t')})
      or exists (select from hf.lease l where l.exit = 'retired' and l.ended_at <= hf_now() - $1::bigint)
      or exists (select from hf.session s where s.ended_at <= hf_now() - $1::bigint)
      or (select e.at <= hf_now() - $1::bigint from hf.event e order by e.seq limit 1)
      or exists (select from hf.flap f where f.until <= hf_now()) as has_work`);

const NOTHING: Swept = { expired: [], ended: [], deleted: 0, paused: 0, more: false };

const DROP_TICKETS = statement(`
  delete from hf.ticket t
   where ${placeIsOver('t')}`);

export async function sweep(
  database: Database,
  policy: LeasePolicy,
  request: Sweep,
): Promise<Swept> {
  const { limit } = request;
  const [found] = await database.rows<{ has_work: boolean | null }>(HAS_WORK, [policy.retentionMs]);
  if (found?.has_work !== true) return NOTHING;
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
