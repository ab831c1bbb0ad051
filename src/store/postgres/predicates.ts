// SQL that several statements share. Each fragment upholds one rule; the statement that uses it
// names the guard on its own line.

/**
 * Equality that fits one plan only: `value` is looked up in the index of `column`. A plain `=` also lets the planner read
 * the whole index and compare, which it prefers while statistics say that the table is empty, and keeps while it grows.
 */
export function lookUp(column: string, value: string): string {
  return `${column} = any (array[${value}])`;
}

/**
 * The session in $n and its ancestors, as far as they have authority now, locked so that none can
 * be ended before this statement commits. `for key share` waits for an end, which locks `for
 * update`, and lets heartbeats pass.
 */
export function liveChain(session: string): string {
  return `chain as materialized (
    select a.expires_at - a.grace_ms as lapses_at
      from hf.session a
     where a.id = any ((select s.path from hf.session s where s.id = ${session})::uuid[])
       and a.ended_at is null -- guard: session-ended
       and a.expires_at - a.grace_ms > hf_now() -- guard: lapse
       for key share of a
  )`;
}

/**
 * The session that carries the lease of key $1 and its ancestors, as far as they have not ended, locked
 * as above: without the lock an operator's act could still land on a term that others already know to
 * have ended with its session. Overdue is not ended.
 */
export const CARRYING_CHAIN = `chain as materialized (
    select a.id
      from hf.session a
     where a.id = any ((select s.path from hf.lease l join hf.session s on ${lookUp('s.id', 'l.session_id')} where l.key = $1)::uuid[])
       and a.ended_at is null -- guard: carrier-ended
       for key share of a
  )`;

/** True when all of the chain was found alive; null, so false, for a session that is not known. */
export function chainIsWhole(session: string): string {
  return `(select count(*) from chain) = (select cardinality(s.path) from hf.session s where s.id = ${session})`;
}

/**
 * A session that carries `lease` is known to have ended, or one of its ancestors. An end is a
 * stored fact that never goes away, so a snapshot that is a little old can only miss it (S-3).
 */
export function sessionEnded(lease: string): string {
  return `exists (select from hf.session h join hf.session a on a.id = any (h.path) where h.id = ${lease}.session_id and coalesce(a.ended_at is not null, false))`;
}

/** The term has ended, in its own row or by what it depends on. Overdue is not ended. */
export function termEnded(lease: string): string {
  return `(${lease}.ended_at is not null or coalesce(${lease}.drain_deadline_at <= hf_now(), false) or coalesce(${lease}.hard_deadline_at <= hf_now(), false) or ${sessionEnded(lease)})`;
}

/** How the term in `lease` ended: by its own row, else by the earliest of its deadlines and sessions. */
export function endOf(lease: string): string {
  return `(
    select e.exit, e.cause, e.actor, e.at
      from (
        select ${lease}.exit, ${lease}.cause, ${lease}.actor, ${lease}.ended_at as at, 0 as rank, 0 as depth
         where ${lease}.ended_at is not null
        union all
        select 'revoked', 'drain deadline passed', null, ${lease}.drain_deadline_at, 1, 0
         where ${lease}.drain_deadline_at <= hf_now()
        union all
        select 'revoked', 'hard deadline passed', null, ${lease}.hard_deadline_at, 2, 0
         where ${lease}.hard_deadline_at <= hf_now()
        union all
        select a.exit, a.cause, a.actor, a.ended_at, 3, cardinality(a.path)
          from hf.session h
          join hf.session a on a.id = any (h.path)
         where h.id = ${lease}.session_id
           and coalesce(a.ended_at is not null, false)
      ) e
     order by e.rank > 0, e.at, e.rank, e.depth
     limit 1
  )`;
}

/** For whom a yield keeps the key, whether or not the end is in the lease's own row yet (V-5). */
export function reservationOf(lease: string, reservationMs: string): string {
  return `(
    select case when ${lease}.ended_at is null then ${lease}.drain_successor else ${lease}.reserved_for end as owner,
           case when ${lease}.ended_at is null then e.at + ${reservationMs} else ${lease}.reserved_until end as until
      from ${endOf(lease)} e
     where ${lease}.ended_at is not null or e.exit = 'yielded'
  )`;
}

/** Its owner is kept from the key for losing it too often, so it does not keep others waiting (G-4). */
export function waiterDamped(ticket: string): string {
  return `exists (select from hf.flap f join hf.session w on w.owner = f.owner where f.key = ${ticket}.key and w.id = ${ticket}.session_id and f.damped_until > hf_now())`;
}

/** The place counts: each session of the waiter's chain was heard of within its ttl, and it still asks. */
export function placeCounts(ticket: string): string {
  return `not (${placeIsOver(ticket)}) and not exists (
    select
      from hf.session s
      join hf.session a on a.id = any (s.path)
     where s.id = ${ticket}.session_id and a.beat_at + a.ttl_ms <= hf_now()
  )`;
}

/** The waiter has ended or asks no more. One that was given more time keeps its place, for it may count again. */
export function placeIsOver(ticket: string): string {
  return `${ticket}.expires_at <= hf_now() or not exists (
    select
      from hf.session s
      join hf.session a on a.id = any (s.path)
     where s.id = ${ticket}.session_id and coalesce(a.ended_at is null, false)
    having count(*) = max(cardinality(s.path))
  )`;
}

/**
 * The server is the one that was last seen, in the same run, and these tables are the same ones: not a
 * copy that was restored from a dump. Else the fair chance, or a new epoch, comes first.
 */
export const SAME_SERVER =
  "(select m.started_at = pg_postmaster_start_time() and m.home = 'hf.fence'::regclass::oid from hf.meta m where m.id = 1)";
