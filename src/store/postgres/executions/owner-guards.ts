// The guards of that every statement of an owner contains, and the form of its result.

import { type Statement, statement } from '../database.ts';
import { equalsByIndex } from '../predicates.ts';

/** The statement's time, read once. */
export const NOW = 'now as materialized (select hf_now() as at)';

/**
 * The sessions among `sessions` that have not ended and whose ancestors have not ended. They are
 * locked, so that none can end before this statement commits. Lapsed and overdue sessions may still
 * write.
 */
export function aliveOf(sessions: string): string {
  return `chain as materialized (
    select a.id
      from hf.session a
     where a.id = any (array(select p.id from hf.session s cross join lateral unnest(s.path) as p(id) where s.id = any (${sessions})))
       and a.ended_at is null -- guard: session-ended
     order by a.id
       for key share of a
  ),
  alive as materialized (
    select array(select s.id from hf.session s where s.id = any (${sessions}) and cardinality(s.path) = (select count(*) from chain c where c.id = any (s.path))) as ids
  )`;
}

/**
 * `e` is the execution, `u` the item. Only the primary key fits: `coalesce` keeps the planner from
 * other indexes.
 */
export function ownedBy(sessions: string): string {
  return `${equalsByIndex('e.id', 'u.id')}
         and e.fence = u.fence -- guard: fence
         and coalesce(e.status = 1, false) -- guard: running
         and e.session_id is not distinct from (${sessions})[coalesce(u.session, 1)] -- guard: session
         and coalesce(e.session_id = any ((select a.ids from alive a)::uuid[]), false) -- guard: alive`;
}

/**
 * New events follow the stored ones. A concurrent writer with the same seq violates the
 * primary key. If the ledger knows that they follow (ledger.ts), the statement skips this lookup.
 */
export function follows(isKnown: boolean): string {
  return isKnown ? '' : FOLLOWS;
}

const FOLLOWS = `
       and (select h.seq from hf.history h where h.execution_id = u.id order by h.seq desc limit 1) = u.first - 1 -- guard: seq`;

/**
 * Returns in one row which items of `from` succeeded, because one row each would cost more than the
 * work. The row contains their number, and their positions only if some are missing. `count` is the
 * number of items.
 */
export function resultsOf(from: string, count: string): string {
  return `count(*)::integer as done, case when count(*) < ${count} then string_agg(${from}.nth::text, ',') end as which`;
}

export interface ResultRow {
  readonly done: number;
  /** The positions, counted from 1. */
  readonly which: string | null;
}

/** Prepares the statement twice: for writes that are known to follow, and for all others. */
export function bothWays(make: (isKnown: boolean) => string): (isKnown: boolean) => Statement {
  const known = statement(make(true));
  const unknown = statement(make(false));
  return (isKnown) => (isKnown ? known : unknown);
}

/** Returns one result per item. Undefined for items that did not succeed. */
export function resultsFrom<Result>(
  row: ResultRow | undefined,
  count: number,
  result: Result,
): (Result | undefined)[] {
  const results = new Array<Result | undefined>(count);
  if (row?.done === count) return results.fill(result);
  for (const nth of row?.which?.split(',') ?? []) results[Number(nth) - 1] = result;
  return results;
}

/**
 * Appends the events of `done`. The last event of each has its own columns; earlier ones are JSON.
 */
export const APPEND_DONE = `appended as (
    insert into hf.history (execution_id, seq, at, fence, kind, name, body)
    select d.id, d.seq, (select now.at from now), d.fence, d.kind, d.name, d.body
      from done d
  ),
  before as (
    insert into hf.history (execution_id, seq, at, fence, kind, name, body)
    select d.id, d.first + b.nth - 1, (select now.at from now), d.fence, b.kind, b.name, b.body
      from done d
     cross join lateral rows from (json_to_recordset(d.earlier::json) as (kind text, name text, body text))
                        with ordinality as b(kind, name, body, nth)
     where d.earlier is not null
  )`;
