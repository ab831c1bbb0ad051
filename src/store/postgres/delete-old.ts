// The deletions of a sweep: what nobody can refer to any more, after the retention has passed.

import type { LeasePolicy } from '../../lease/policy.ts';
import { type Queries, statement } from './database.ts';

// L-6: only retired keys go. A grant that is under way now cannot have minted its fence before this
// row was retired, since statements are cut off long before the retention has passed (T-3).
const DELETE_RETIRED = statement(`
  with old as (
    select l.key
      from hf.lease l
     where l.exit = 'retired' -- guard: retired
       and l.ended_at <= hf_now() - $1::bigint -- guard: retention
     limit $2
       for update skip locked
  )
  delete from hf.lease l
   using old
   where l.key = old.key
  returning l.key`);

// A session stays while it, or one below it, is not over: lives, or carries a term whose end is not
// recorded.
const DELETE_SESSIONS = statement(`
  with old as (
    select s.id
      from hf.session s
     where s.ended_at <= hf_now() - $1::bigint -- guard: retention
       and not exists (select from hf.lease l where l.session_id = s.id and l.ended_at is null) -- guard: carried
       and not exists (select from hf.session d where d.path @> array[s.id] and d.id <> s.id and (d.ended_at is null or exists (select from hf.lease l where l.session_id = d.id and l.ended_at is null))) -- guard: descendants
     limit $2
       for update skip locked
  )
  delete from hf.session s
   using old
   where s.id = old.id
  returning s.id`);

const DELETE_EVENTS = statement(`
  with deleted as (
    delete from hf.event e
     where e.seq in (select o.seq from hf.event o where o.at <= hf_now() - $1::bigint order by o.seq limit $2)
    returning e.seq
  ),
  noted as (
    update hf.meta m
       set events_deleted = greatest(m.events_deleted, (select max(d.seq) from deleted d))
     where m.id = 1
       and exists (select from deleted)
  )
  select d.seq from deleted d`);

const DELETE_FLAPS = statement('delete from hf.flap f where f.until <= hf_now()');

/** How many rows went; at most `limit`. */
export async function deleteOld(
  queries: Queries,
  policy: LeasePolicy,
  limit: number,
): Promise<number> {
  let deleted = 0;
  for (const each of [DELETE_RETIRED, DELETE_SESSIONS, DELETE_EVENTS]) {
    if (deleted < limit) {
      deleted += (await queries.rows(each, [policy.retentionMs, limit - deleted])).length;
    }
  }
  await queries.rows(DELETE_FLAPS, []);
  return deleted;
}
