// SQL that several statements share. Each fragment upholds one rule; the statement that uses it
// names the guard on its own line.

/**
 * Equality that fits one plan only: `value` is looked up in the index of `column`. A plain `=` also lets the planner read
 * the whole index and compare, which it prefers while statistics say that the table is empty, and keeps while it grows.
 */
export function lookedUp(column: string, value: string): string {
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

/** True when all of the chain was found alive; null, so false, for a session that is not known. */
export function chainIsWhole(session: string): string {
  return `(select count(*) from chain) = (select cardinality(s.path) from hf.session s where s.id = ${session})`;
}

/**
 * The server is the one that was last seen, in the same run, and these tables are the same ones: not a
 * copy that was restored from a dump. Else the fair chance, or a new epoch, comes first.
 */
export const SAME_SERVER =
  "(select m.started_at = pg_postmaster_start_time() and m.home = 'hf.fence'::regclass::oid from hf.meta m where m.id = 1)";
