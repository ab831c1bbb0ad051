import type { SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import { type Census, causeOfHold, decideReclaim } from '../../lease/reclaim.ts';
import { PROJECT_METADATA } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { type Database, type Queries, statement } from './database.ts';
import { lookUp } from './predicates.ts';

// One reclaim at a time, so that the breaker counts what the one before it did.
const TAKE_TURNS = statement('select m.id from hf.meta m where m.id = 1 for update');

// Those of no project are one crowd too, whose name is null.
const CENSUS = statement(`
  with expired as (
    select e.metadata ->> '${PROJECT_METADATA}' as project, count(*) as sessions
      from hf.session e
     where e.ended_at > hf_now() - $1::bigint
       and e.exit = 'expired'
     group by 1
  ),
  live as (
    select s.metadata ->> '${PROJECT_METADATA}' as project,
           count(*) as sessions,
           count(*) filter (where s.expires_at <= hf_now() and not s.extended) as fresh
      from hf.session s
     where s.ended_at is null
     group by 1
  )
  select hf_now() as now, live.project, live.sessions as live, live.fresh as overdue_fresh,
         coalesce((select expired.sessions from expired where expired.project is not distinct from live.project), 0) as expired_in_window
    from live
   where live.fresh > 0`);

const HOLD = statement(`
  with held as (
    update hf.session s
       set expires_at = $1,
           extended   = true
     where s.ended_at is null
       and s.expires_at <= hf_now()
       and s.metadata ->> '${PROJECT_METADATA}' is not distinct from $2::text -- guard: project
       and not s.extended
    returning s.id
  ),
  alarm as (
    insert into hf.event (at, kind, detail)
    select hf_now(), 'alarm', jsonb_build_object('alarm', 'mass-expiry', 'cause', $3::text)
      from held
    having count(*) > 0
  )
  select held.id from held`);

// The row is locked for update and looked at again under the lock: a heartbeat that came first wins
// (E-2), and every write under way in this session is waited for.
const EXPIRE = statement(`
  with overdue as (
    select s.id
      from hf.session s
     where s.id = any ($1::uuid[])
       and s.ended_at is null -- guard: ended
       and s.expires_at <= hf_now() -- guard: expiry
     order by s.id
       for update of s
  ),
  expired as (
    update hf.session s
       set ended_at = hf_now(),
           exit     = 'expired'
      from overdue
     where ${lookUp('s.id', 'overdue.id')}
    returning s.id, s.owner
  ),
  told as (
    insert into hf.event (at, kind, session_id, owner, detail)
    select hf_now(), 'session-ended', e.id, e.owner, '{"exit": "expired"}'
      from expired e
     order by e.id
  )
  select e.id from expired e`);

export interface Reclaimed {
  readonly expired: readonly SessionId[];
  readonly paused: number;
}

/** Expires those of the sessions that are overdue, unless the breaker holds them back (E-8). */
export async function reclaim(
  database: Database,
  policy: LeasePolicy,
  candidates: readonly SessionId[],
): Promise<Reclaimed> {
  if (candidates.length === 0) return { expired: [], paused: 0 };
  return database.transaction(async (queries) => {
    await queries.rows(TAKE_TURNS, []);
    const paused = await holdBack(queries, policy);
    const expired = await queries.rows<{ id: SessionId }>(EXPIRE, [candidates]);
    return { expired: expired.map((row) => row.id), paused };
  });
}

interface CensusRow {
  readonly now: Instant;
  readonly project: string | null;
  readonly live: number;
  readonly overdue_fresh: number;
  readonly expired_in_window: number;
}

/** How many sessions were given more time. */
async function holdBack(queries: Queries, policy: LeasePolicy): Promise<number> {
  let held = 0;
  for (const row of await queries.rows<CensusRow>(CENSUS, [policy.breakerWindowMs])) {
    const { live, overdue_fresh: overdueFresh, expired_in_window: expiredInWindow } = row;
    const census: Census = { live, overdueFresh, expiredInWindow };
    const decision = decideReclaim(census, policy, row.now);
    if (decision.kind === 'expire') continue;
    const cause = causeOfHold(row.project ?? undefined, census);
    held += (await queries.rows(HOLD, [decision.until, row.project, cause])).length;
  }
  return held;
}
