// The deletions of a sweep: what nobody can refer to any more, after the retention has passed.

import type { LeasePolicy } from '../../lease/policy.ts';
import { type Database, statement } from './database.ts';
import { lookUp } from './predicates.ts';

const HAS_RETIRED = statement(`
  select exists (select from hf.lease l where l.exit = 'retired' and l.ended_at <= hf_now() - $1::bigint) as some`);

// A grant of a key that has no row mints its fence before there is one to lock. This lock waits for all
// grants under way, so that none of them still has a fence from before a row that goes now (T-2).
const ALONE = statement('lock table hf.lease in share row exclusive mode');

// L-6: only retired keys go.
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
   where ${lookUp('l.key', 'old.key')}
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
   where ${lookUp('s.id', 'old.id')}
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
  database: Database,
  policy: LeasePolicy,
  limit: number,
): Promise<number> {
  let deleted = await deleteRetired(database, policy, limit);
  for (const each of [DELETE_SESSIONS, DELETE_EVENTS]) {
    if (deleted < limit) {
      deleted += (await database.rows(each, [policy.retentionMs, limit - deleted])).length;
    }
  }
  await database.rows(DELETE_FLAPS, []);
  return deleted;
}

async function deleteRetired(
  database: Database,
  policy: LeasePolicy,
  limit: number,
): Promise<number> {
  const [found] = await database.rows<{ some: boolean }>(HAS_RETIRED, [policy.retentionMs]);
  if (found?.some !== true) return 0;
  return database.transaction(async (queries) => {
    await queries.rows(ALONE, []);
    return (await queries.rows(DELETE_RETIRED, [policy.retentionMs, limit])).length;
  });
}
