// Ends that follow from a session or a deadline are written into the lease's own row, once (E-3).
// Only then can the key be granted, which keeps the statement that grants small.

import type { Fence } from '../../lease/fence.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import { type Database, type Queries, statement } from './database.ts';
import { endOf, lookUp, reservationOf, termEnded } from './predicates.ts';

export interface EndedTerm {
  readonly key: LeaseKey;
  readonly fence: Fence;
}

const TELL = `
  told as (
    insert into hf.event (at, kind, key, fence, rev, session_id, owner, detail)
    select hf_now(), 'ended', e.key, e.fence, e.rev, e.session_id, e.owner,
           jsonb_build_object('exit', e.exit, 'cause', e.cause, 'actor', e.actor)
      from ended e
     order by e.key
  )
  select e.key, e.fence
    from ended e
   order by e.key`;

// What was listed is looked at again under the lock.
const RECORD = `
  target as (
    select l.key
      from hf.lease l
     where l.key = any (array(select c.key from candidate c))
       and coalesce(l.ended_at is null, false) -- guard: ended
       and ${termEnded('l')} -- guard: implied
     order by l.key
       for no key update of l
  ),
  ended as (
    update hf.lease l
       set rev = l.rev + 1,
           (reserved_for, reserved_until) = (select v.owner, case when v.owner is not null then v.until end from ${reservationOf('l', '$2::bigint')} v),
           (exit, cause, actor, ended_at) = (select e.exit, e.cause, e.actor, e.at from ${endOf('l')} e)
      from target
     where ${lookUp('l.key', 'target.key')}
    returning l.*
  ),
  ${TELL}`;

const RECORD_ONE = statement(`
  with candidate as (
    select $1::text as key
  ),
  ${RECORD}`);

const RECORD_MANY = statement(`
  with candidate as (
    select c.key
      from (
        select l.key
          from hf.session e
          join hf.session h on e.id = any (h.path)
          join hf.lease l on l.session_id = h.id
         where e.ended_at is not null
           and l.ended_at is null
        union
        select l.key
          from hf.lease l
         where l.ended_at is null
           and least(l.drain_deadline_at, l.hard_deadline_at) <= hf_now()
      ) c
     limit $1
  ),
  ${RECORD}`);

// A lease whose session is not known is stale, not immortal (E-5). That a row is missing can only be
// trusted when it is looked for after the lease's row was locked, with a newer snapshot: in one
// statement, a session opened a moment ago would be missing too.
const LOCK_ORPHANS = statement(`
  select l.key
    from hf.lease l
   where l.ended_at is null
     and ($2::text is null or l.key = $2)
     and not exists (select from hf.session s where s.id = l.session_id)
   order by l.key
   limit $1
     for no key update of l`);

const RECORD_ORPHANS = statement(`
  with ended as (
    update hf.lease l
       set rev      = l.rev + 1,
           ended_at = hf_now(),
           exit     = 'expired',
           cause    = 'session unknown'
     where l.key = any ($1::text[])
       and coalesce(l.ended_at is null, false)
       and (select s.id from hf.session s where s.id = l.session_id) is null
    returning l.*
  ),
  ${TELL}`);

/** Writes down how the term of this key ended, if it has ended and nobody has. */
export async function recordEnd(
  queries: Queries,
  policy: LeasePolicy,
  key: LeaseKey,
): Promise<void> {
  await queries.rows(RECORD_ONE, [key, policy.reservationMs]);
}

export async function recordEnds(
  database: Database,
  policy: LeasePolicy,
  limit: number,
): Promise<readonly EndedTerm[]> {
  const ended = await database.rows<EndedTerm & object>(RECORD_MANY, [limit, policy.reservationMs]);
  const orphans = await database.transaction((queries) => recordOrphans(queries, { limit }));
  return [...ended, ...orphans];
}

/** The same for one key, whose session is not known. */
export async function recordOrphan(queries: Queries, key: LeaseKey): Promise<void> {
  await recordOrphans(queries, { limit: 1, key });
}

async function recordOrphans(
  queries: Queries,
  wanted: { readonly limit: number; readonly key?: LeaseKey },
): Promise<readonly EndedTerm[]> {
  const values = [wanted.limit, wanted.key ?? null];
  const orphans = await queries.rows<{ key: LeaseKey }>(LOCK_ORPHANS, values);
  if (orphans.length === 0) return [];
  return queries.rows<EndedTerm & object>(RECORD_ORPHANS, [orphans.map(({ key }) => key)]);
}
