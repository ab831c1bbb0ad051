// SQL fragments that several statements share. Each upholds one rule. The statement that uses a
// fragment names the guard on its own line.

/**
 * Equality that allows one plan only: a lookup of `value` in the index of `column`. A plain `=`
 * also lets the planner read the whole index and compare. It prefers that while statistics show an
 * empty table, and keeps the plan while the table grows.
 */
export function equalsByIndex(column: string, value: string): string {
  return `${column} = any (array[${value}])`;
}

/**
 * The session in $n and its ancestors, as far as they have authority now. They are locked, so that
 * none can end before this statement commits. `for key share` waits for an end, which locks `for
 * update`, but lets heartbeats pass.
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

/** True if the whole chain is alive. Null, which counts as false, for an unknown session. */
export function chainIsComplete(session: string): string {
  return `(select count(*) from chain) = (select cardinality(s.path) from hf.session s where s.id = ${session})`;
}

/**
 * The server is the one last seen, in the same run, and the tables are not a copy restored from a
 * dump. Otherwise the fair chance or a new epoch comes first.
 */
export const SAME_SERVER =
  "(select m.started_at = pg_postmaster_start_time() and m.home = 'hf.fence'::regclass::oid from hf.meta m where m.id = 1)";
