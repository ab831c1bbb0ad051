// What a sweep deletes, at most `limit` rows. L-6: only retired keys, and sessions nothing refers
// to; the fence sequence is never touched (T-3).

import type { Transaction } from './transaction.ts';

// The sessions that carry terms, found by steps through the index: as many as there are such
// sessions, not as there are terms. The last row is null.
export const CARRIERS = `
  carrier (id) as (
    select min(session_id) from lease where ended_at is null
    union all
    select (select min(session_id) from lease where ended_at is null and session_id > carrier.id)
      from carrier
     where carrier.id is not null)`;

const DELETE_LEASES = `
  delete from lease
   where key in (
           select key
             from lease
            where exit = 'retired'
              and ended_at <= :before
            order by ended_at
            limit :limit)`;

// A living session, and one whose terms still take their end from it, needs itself and all above.
const DELETE_SESSIONS = `
  with recursive ${CARRIERS}
  delete from session
   where id in (
           select id
             from session
            where ended_at <= :before
              and id not in (
                    select step.value
                      from session as living indexed by session_expiry
                      join json_each(living.path) as step
                     where living.ended_at is null)
              and id not in (
                    select step.value
                      from carrier
                      join session as holder on holder.id = carrier.id
                      join json_each(holder.path) as step)
            order by ended_at, id
            limit :limit)`;

// Time only rises with seq, so the oldest are in front.
const DELETE_EVENTS = `
  delete from event
   where seq in (select seq from event order by seq limit :limit)
     and at <= :before`;

const DELETE_FLAPS = 'delete from flap where until <= :now';

/** How many keys, sessions and events went. */
export function deleteOld(tx: Transaction, limit: number): number {
  const before = tx.now - tx.policy.retentionMs;
  let deleted = 0;
  for (const sql of [DELETE_LEASES, DELETE_SESSIONS, DELETE_EVENTS]) {
    if (deleted < limit) deleted += tx.run(sql, { before, limit: limit - deleted });
  }
  tx.run(DELETE_FLAPS, { now: tx.now });
  return deleted;
}
