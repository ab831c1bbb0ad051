import type { SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import { type Census, decideReclaim } from '../../lease/reclaim.ts';
import type { Instant } from '../../support/clock.ts';
import { type Database, type Queries, statement } from './database.ts';
import { lookUp } from './predicates.ts';

// One reclaim at a time, so that the breaker counts what the one before it did.
const TAKE_TURNS = statement('select m.id from hf.meta m where m.id = 1 for update');

const CENSUS = statement(`
  select hf_now() as now,
         count(*) as live,
         count(*) filter (where s.expires_at <= hf_now() and not s.extended) as overdue_fresh,
         (select count(*)
            from hf.session e
           where e.ended_at > hf_now() - $1::bigint
             and e.exit = 'expired') as expired_in_window
    from hf.session s
   where s.ended_at is null`);

const HOLD = statement(`
  with held as (
    update hf.session s
       set expires_at = $1,
           extended   = true
     where s.ended_at is null
       and s.expires_at <= hf_now()
       and not s.extended
    returning s.id
  ),
  alarm as (
    insert into hf.event (at, kind, detail)
    select hf_now(), 'alarm', jsonb_build_object('alarm', 'mass-expiry', 'cause', count(*) || ' of ' || $2::text || ' sessions')
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
    const { census, now } = await takeCensus(queries, policy);
    const decision = decideReclaim(census, policy, now);
    const held =
      decision.kind === 'hold' ? await queries.rows(HOLD, [decision.until, census.live]) : [];
    const expired = await queries.rows<{ id: SessionId }>(EXPIRE, [candidates]);
    return { expired: expired.map((row) => row.id), paused: held.length };
  });
}

async function takeCensus(
  queries: Queries,
  policy: LeasePolicy,
): Promise<{ readonly census: Census; readonly now: Instant }> {
  const [row] = await queries.rows<{
    now: number;
    live: number;
    overdue_fresh: number;
    expired_in_window: number;
  }>(CENSUS, [policy.breakerWindowMs]);
  const census = {
    live: row?.live ?? 0,
    overdueFresh: row?.overdue_fresh ?? 0,
    expiredInWindow: row?.expired_in_window ?? 0,
  };
  return { census, now: (row?.now ?? 0) as Instant };
}
