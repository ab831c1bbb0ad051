// The claim statement. Its cost must not depend on statistics, on ended executions, on other
// pipelines or on executions that wait for a slot. It reads only the first entries of indexes.
//
//   carrier   the sessions that run executions of the requested project, one index probe each,
//             starting at a random one (`above`, then `below`); `dead` are those that have ended
//   spot      a pipeline × lane × project that has entries, found by loose index scans
//   seen      the first entries of each spot, one more than its project's fair part, without locks
//   allotted  the number to take from each spot, so that the claim locks only rows that it takes;
//             if there is only one spot, as usual, the statement skips `seen`
//   abandoned a bounded part of the executions that dead sessions left (X-90)
//   suspect   the one suspect to try now (X-56), which counts against its lane's limit; `lost` has
//             no suspects
//   ready, lost, tried   the locked rows in their current state: PostgreSQL rechecks changed rows
//
// Preparing for lost executions takes as long as the rest, and there seldom are any. So CLAIM_READY
// omits them. If a dead session left executions, CLAIM_READY takes nothing, and CLAIM follows.
//
// A claim that knows its spots from an earlier one ($10) reads each spot from its floor on, and
// does not look for lost executions. So it skips index entries that an old snapshot retains (ADR
// 0040, claim-floors.ts).

import { CLAIM_SCAN_MAX, SUSPECT_FROM, SUSPECT_WAIT } from '../../../execution/decide/suspect.ts';
import { REPLAY } from '../../../execution/route.ts';
import { NAME_BYTES_MAX } from '../../../lease/names.ts';
import { BEATS_PER_TTL } from '../../../lease/session.ts';
import type { ExecutionRow } from '../../execution-rows.ts';
import { type Statement, statement } from '../database.ts';
import { chainIsComplete, equalsByIndex, liveChain, SAME_SERVER } from '../predicates.ts';
import { NOW } from './owner-guards.ts';

export interface Outlook {
  readonly is_live: boolean;
  /** A gated execution is ready. */
  readonly gate: boolean;
  readonly more: boolean;
  readonly overdue: boolean;
  /** A dead session left executions, so CLAIM_READY took nothing. */
  readonly takes_over: boolean;
  readonly next_in_ms: number | null;
  /** The spots and floors for the next claim as JSON, if the caller requested them. */
  readonly floors: string | null;
}

export type ClaimedRow = ExecutionRow & { readonly claimed_at: number; readonly was: number };
export type ClaimRow = Outlook & (ClaimedRow | { readonly id: null });

/**
 * The first parameters of the statements: session, routes, lanes, limits, minimum number of sharing
 * projects, only project, dice, age of the claimer.
 */
export type ClaimValues = readonly (string | number | null)[];

/** `ready` omits lost executions. If a dead session left any, it takes nothing and reports that. */
type Scope = 'ready' | 'all';

function ofAll(scope: Scope, text: string, otherwise = ''): string {
  return scope === 'all' ? text : otherwise;
}

/** The kinds of index entries in a spot. */
const READY = 0;
const GATED = 1;
const LOST = 2;

const isGated = (source: number): string => (source === GATED ? 'e.gated' : 'not e.gated');

/** The execution is a suspect after this loss (X-54). */
const IS_SUSPECT = `e.fruitless + 1 >= ${SUSPECT_FROM} and ${hasRecordedNothing()}`;

function hasRecordedNothing(): string {
  return '(select h.seq from hf.history h where h.execution_id = e.id order by h.seq desc limit 1) <= e.claimed_seq';
}

/** The session id after which a claim begins to look. */
const FIRST_HOLDER = `(lpad(to_hex(floor(coalesce($7::float8, 0) * 4294967296)::bigint), 8, '0') || '-0000-0000-0000-000000000000')::uuid`;

/** Finds the next session that runs an execution, within `$6` if the caller named a project. */
function nextHolder(after?: string): string {
  const beyond = after === undefined ? '' : `and e.session_id > ${after}`;
  const first = (within: string): string =>
    `(select e.session_id from hf.execution e where e.status = 1 ${within} ${beyond} order by e.session_id limit 1)`;
  return `case when $6::text is null then ${first('')} else ${first(`and e.project = $6 and e.project >= ''`)} end`;
}

/**
 * Finds the first project of a spot, or the one after `above`. If the caller named a project, it
 * starts there.
 */
function projectIn(source: number, above?: string): string {
  const beyond =
    above === undefined ? `and e.project >= coalesce($6::text, '')` : `and e.project > ${above}`;
  const within = `e.ready_at is not null and e.hold = 0 and ${isGated(source)}`;
  return `(select e.project from hf.execution e where ${within} and e.pipeline = s.pipeline and e.lane = s.lane ${beyond} order by e.project limit 1)`;
}

/** Finds the ready time of the first execution in a spot, after `after` if given. */
function firstIn(source: number, after = ''): string {
  return `(select e.ready_at from hf.execution e where e.ready_at is not null and e.hold = 0 and ${isGated(source)} and e.pipeline = s.pipeline and e.lane = s.lane and e.project = s.project and e.ready_at >= s.floor ${after} order by e.ready_at limit 1)`;
}

const IN_SPOT = 'e.pipeline = s.pipeline and e.lane = s.lane and e.project = s.project';
const IS_READY = `e.ready_at is not null and e.ready_at >= s.floor and e.ready_at <= (select now.at from now) and e.hold = 0 and not e.gated and ${IN_SPOT}`;
const IS_LOST = `s.source = ${LOST} and e.left_by = s.left_by and ${IN_SPOT} and not e.is_suspect`;

/** Reads the entries of spot `s` without locks, one more than `most`. */
function seenIn(most: string, scope: Scope): string {
  return `(select e.id, e.ready_at as at from hf.execution e where s.source = ${READY} and ${IS_READY} order by e.ready_at, e.id limit ${most} + 1)
           ${ofAll(
             scope,
             `union all
           (select e.id, 0 from abandoned e where ${IS_LOST} limit ${most} + 1)`,
           )}`;
}

/**
 * The chain of session `c`, one row per session on its path. The columns of an unknown session are
 * null.
 */
const CHAIN = `hf.session h cross join lateral unnest(h.path) as p(id) left join hf.session a on ${equalsByIndex('a.id', 'p.id')} where h.id = c.id`;

/** An unknown session has ended, because sweeps delete only ended ones. */
const DEAD = `coalesce((select bool_or(a.id is null or a.ended_at is not null) from ${CHAIN}), true)`;
const OVERDUE = `coalesce((select bool_or(a.expires_at <= (select now.at from now)) and bool_and(a.ended_at is null) from ${CHAIN}), false)`;

/**
 * For the only spot of a lane: true if the claim reached its limit, or another transaction had
 * locked some rows.
 */
function leftOver(scope: Scope): string {
  return `case when coalesce(t.n, 0) >= s.n then true
           else (select count(*) from (${seenIn('s.n', scope)}) r) > coalesce(t.n, 0) end`;
}

/** Neither pinned to a release nor a preflight of one (RE-9). */
const IS_FOR_ALL = `strpos(s.pipeline, chr(31)) = 0 and not starts_with(s.pipeline, '${REPLAY}/')`;

const IS_ANNOUNCED = `(${IS_FOR_ALL} or exists (select from hf.worker_route w where w.session_id = $1 and w.project = s.project and w.route = s.pipeline))`;

/** For suspect `s`: the latest time of the owner's death, and the wait from then on. */
const LOST_AT = 'greatest(s.claimed_at, coalesce(s.silent_at, s.claimed_at))';
const WAIT_MS = `least(${SUSPECT_WAIT.maxMs}, greatest(${SUSPECT_WAIT.minMs}, ${SUSPECT_WAIT.times} * (${LOST_AT} - s.claimed_at)))`;

/**
 * This session already tries a suspect, which has recorded nothing and has not run as long as the
 * session had lived. Ask it only of a suspect, in a `case`: alone, the planner would read all that
 * this session runs, with every claim.
 */
const TRIES_ONE = `exists (select from hf.execution e where e.status = 1 and ${equalsByIndex('e.session_id', '$1::uuid')} and e.fruitless >= ${SUSPECT_FROM} and (select now.at from now) - e.claimed_at < least(e.claimed_at - (select me.born_at from me), ${SUSPECT_WAIT.maxMs}) and ${hasRecordedNothing()})`;

const KNOWN =
  'json_to_recordset($10) as k(source integer, pipeline text, lane smallint, project text, floor bigint)';

/**
 * A submit may commit after another one with a later time, so a partial claim starts this much
 * earlier.
 */
const LATE_MS = 250;

const FLOORS = `(select json_agg(json_build_object('source', f.source, 'pipeline', f.pipeline, 'lane', f.lane, 'project', f.project, 'floor', greatest(f.floor, f.first_at - ${LATE_MS})))::text from found f where f.source <> ${LOST})`;

const UNLESS_LEFT = `
     where not exists (select from dead) -- guard: takes-over`;

/** True for half of the dice, evenly spread. */
const IS_FORWARD = 'floor(coalesce($7::float8, 0) * 1000003)::integer % 2 = 0';

/** No name of a project is greater, in the order of bytes. */
const LAST_PROJECT = `repeat(chr(1114111), ${NAME_BYTES_MAX})`;

/**
 * Reads the first executions that session `d` left in a pipeline and lane, or the last ones, so that
 * those behind many suspects are found too. The order leaves the planner only the index of running
 * executions, of which it reads no other pipelines, lanes and projects.
 */
function abandonedBy(direction: '' | 'desc'): string {
  const order = ['session_id', 'pipeline', 'lane', 'project'];
  return `(select e.id, e.claimed_at, e.claimed_seq, e.fruitless, e.project, e.pipeline, e.lane
             from hf.execution e
            where ${direction === '' ? IS_FORWARD : `not (${IS_FORWARD})`}
              and e.status = 1
              and ${equalsByIndex('e.session_id', 'd.id')}
              and e.pipeline = p.pipeline
              and e.lane = l.lane
              and e.project >= coalesce($6::text, '')
              and e.project <= coalesce($6::text, ${LAST_PROJECT})
            order by ${order.map((column) => `e.${column} ${direction}`).join(', ')}
            limit ${CLAIM_SCAN_MAX.left})`;
}

/** Each dead session has its part of the bound, so that none can hide what another left. */
const PART = `(select ${CLAIM_SCAN_MAX.left} / greatest(count(*), 1) from dead)`;

const LEFT_WORK = `abandoned as materialized (
    select e.*, ${IS_SUSPECT} as is_suspect
      from (
           select e.*, d.id as left_by, d.silent_at
             from me
            cross join dead d
            cross join lateral (
                  select e.*
                    from unnest($2::text[]) as p(pipeline)
                   cross join unnest($3::smallint[]) as l(lane)
                   cross join lateral (
                         ${abandonedBy('')}
                         union all
                         ${abandonedBy('desc')}
                         ) e
                   limit ${PART}
                  ) e
           ) e
  ),
  suspect as materialized (
    select s.id, s.lane, s.left_by
      from me
     cross join abandoned s
     where s.is_suspect -- guard: suspect-lost
       and (select now.at from now) - ${LOST_AT} >= ${WAIT_MS} -- guard: suspect-wait
       and (select now.at from now) - me.born_at >= ${WAIT_MS} -- guard: suspect-age
       and case when s.is_suspect then not ${TRIES_ONE} else true end -- guard: suspect-one
       and ${IS_ANNOUNCED} -- guard: suspect-announced
     order by s.claimed_at, s.id
     limit 1
  ),`;

/**
 * The parameters:
 *
 *   $1 session, $2 pipelines, $3 lanes, $4 limits, $5 minimum number of sharing projects,
 *   $6 only project, $7 dice, $8 age of the claimer, $9 gates were processed, $10 known spots,
 *   $11 floors are requested
 */
const spotsOf = (scope: Scope): string => `
  ${NOW},
  ${liveChain('$1')},
  me as materialized (
    select s.id, s.owner, least(s.opened_at, (select now.at from now) - $8::bigint) as born_at
      from hf.session s
     where s.id = $1
       and ${chainIsComplete('$1')} -- guard: alive
       and (select m.halted is null from hf.meta m where m.id = 1) -- guard: halted
       and ${SAME_SERVER} -- guard: server
  ),
  above as (
    select ${nextHolder(FIRST_HOLDER)} as id, 1 as nth
     where $10::json is null
    union all
    select ${nextHolder('c.id')}, c.nth + 1
      from above c
     where c.id is not null
       and c.nth < ${CLAIM_SCAN_MAX.sessions}
  ),
  below as (
    select ${nextHolder()} as id, (select max(a.nth) from above a) as nth
     where $10::json is null
    union all
    select ${nextHolder('c.id')}, c.nth + 1
      from below c
     where c.id <= ${FIRST_HOLDER}
       and c.nth < ${CLAIM_SCAN_MAX.sessions}
  ),
  carrier as materialized (
    select a.id from above a where a.id is not null
    union all
    select b.id from below b where b.id <= ${FIRST_HOLDER}
  ),
  dead as materialized (
    select c.id, least(h.ended_at, h.beat_at + h.ttl_ms / ${BEATS_PER_TTL}) as silent_at
      from carrier c
      left join hf.session h on ${equalsByIndex('h.id', 'c.id')}
     where ${DEAD} -- guard: lost
  ),
  ${ofAll(scope, LEFT_WORK)}
  asked as materialized (
    select p.pipeline, l.lane, l.most${ofAll(scope, ' - (select count(*) from suspect x where x.lane = l.lane)::integer')} as most, l.projects
      from me
     cross join unnest($2::text[]) as p(pipeline)
     cross join unnest($3::smallint[], $4::integer[], $5::integer[]) as l(lane, most, projects)
     ${ofAll(scope, '', UNLESS_LEFT)}
  ),
  spot as (
    (select s.*, ${READY} as source, null::uuid as left_by, 0::bigint as floor, ${projectIn(READY)} as project from asked s where $10 is null
     union all
     select s.*, ${GATED}, null, 0, ${projectIn(GATED)} from asked s where $10 is null
     ${ofAll(
       scope,
       `union all
     select distinct a.*, ${LOST}, e.left_by, 0::bigint, e.project from asked a join abandoned e on e.pipeline = a.pipeline and e.lane = a.lane where not e.is_suspect`,
     )}
     union all
     select s.*, k.source, null, k.floor, k.project from asked s join ${KNOWN} on k.pipeline = s.pipeline and k.lane = s.lane)
    union all
    select s.pipeline, s.lane, s.most, s.projects, s.source, s.left_by, s.floor,
           case s.source when ${READY} then ${projectIn(READY, 's.project')} when ${GATED} then ${projectIn(GATED, 's.project')}  end
      from spot s
     where s.project is not null
       and $6 is null
       and $10 is null
  ),
  found as materialized (
    select s.*, case s.source when ${READY} then ${firstIn(READY)} when ${GATED} then ${firstIn(GATED)} else 0 end as first_at
      from spot s
     where s.project is not null
       and ($6 is null or s.project = $6) -- guard: project
       and ${IS_ANNOUNCED} -- guard: announced
  ),
  gate as materialized (
    select exists (select from found f where f.source = ${GATED} and f.first_at <= (select now.at from now)) as waits
  ),
  fair as materialized (
    select f.lane, count(*) filter (where f.source <> ${GATED}) = 1 as is_one,
           (f.most + greatest(count(distinct f.project), f.projects) - 1) / greatest(count(distinct f.project), f.projects) as part,
           (array_agg(distinct f.project))[1 + floor($7::float8 * count(distinct f.project))::integer] as first
      from found f
     where f.first_at <= (select now.at from now)
     group by f.lane, f.most, f.projects
  )`;

const LEFT = `lost as materialized (
    select r.*, (select h.seq from hf.history h where h.execution_id = r.id order by h.seq desc limit 1) as last
      from allotted s
     cross join lateral (
           select l.*
             from abandoned e
            cross join lateral (
                  select e.id, l.fence, l.claimed_seq, l.fruitless
                    from hf.execution l
                   where ${equalsByIndex('l.id', 'e.id')}
                     and l.status = 1
                     and l.session_id = s.left_by -- guard: carrier
                     for no key update of l skip locked
                  ) l
            where ${IS_LOST} -- guard: left
            limit s.n
           ) r
  ),
  tried as materialized (
    select r.*
      from suspect s
     cross join lateral (
           select e.id, e.fence, e.claimed_seq, e.fruitless
             from hf.execution e
            where ${equalsByIndex('e.id', 's.id')}
              and e.status = 1
              and e.session_id = s.left_by -- guard: suspect-carrier
              for no key update of e skip locked
           ) r
     where ($9 or not (select g.waits from gate g)) -- guard: gate-suspect
  ),`;

const TAKEN_OVER = `union all
            select l.id, l.fence, l.last, case when l.last = l.claimed_seq then l.fruitless + 1 else 1 end, 3 from lost l
             union all
            select x.id, x.fence, x.claimed_seq, x.fruitless + 1, 3 from tried x`;

const claimOf = (scope: Scope): string => `
  with recursive ${spotsOf(scope)},
  seen as materialized (
    select s.pipeline, s.lane, s.most, s.project, s.source, s.left_by, s.floor, fair.part, fair.first, r.id, r.at,
           row_number() over (partition by s.lane, s.project order by r.at, r.id) as rank
      from found s
      join fair on fair.lane = s.lane
     cross join lateral (
           ${seenIn('fair.part', scope)}
           ) r
     where ($9 or not (select g.waits from gate g)) -- guard: gate
       and s.first_at <= (select now.at from now)
       and not fair.is_one
  ),
  allotted as materialized (
    select t.pipeline, t.lane, t.project, t.source, t.left_by, t.floor, count(*) as n
      from (
        select s.*, row_number() over (partition by s.lane order by s.rank, s.project < s.first, case when s.first is not null then s.project end, s.at, s.id) as turn
          from seen s
         where s.rank <= s.part -- guard: fair
      ) t
     where t.turn <= t.most -- guard: limit
     group by 1, 2, 3, 4, 5, 6
     union all
    select s.pipeline, s.lane, s.project, s.source, s.left_by, s.floor, fair.part
      from found s
      join fair on fair.lane = s.lane
     where fair.is_one
       and s.source <> ${GATED}
       and s.first_at <= (select now.at from now)
       and ($9 or not (select g.waits from gate g)) -- guard: gate-one
  ),
  ready as materialized (
    select r.*
      from allotted s
     cross join lateral (
           select e.id, e.fence, e.seq as last, 0 as fruitless, e.previous as was
             from hf.execution e
            where s.source = ${READY}
              and ${IS_READY} -- guard: ready
            order by e.ready_at, e.id
            limit s.n
              for no key update of e skip locked
           ) r
  ),
  ${ofAll(scope, LEFT)}
  claimed as (
    update hf.execution e
       set status      = 1,
           fence       = nextval('hf.fence'),
           session_id  = $1,
           claimed_at  = (select now.at from now),
           ready_at    = null,
           wake_after  = 0,
           seq         = t.last + 1,
           claimed_seq = t.last + 1,
           fruitless   = t.fruitless
      from (select r.id, r.fence, r.last, r.fruitless, r.was from ready r
             ${ofAll(scope, TAKEN_OVER)}) t
     where ${equalsByIndex('e.id', 't.id')}
       and e.fence is not distinct from t.fence -- guard: fence
    returning e.id, e.project, e.pipeline, e.lane, e.has_place, e.fence, e.claimed_at, e.fruitless, e.seq, e.news,
              e.submitted_at, e.deadline_at, e.input, e.about, e.key, e.intent, e.parent_id, e.parent_call,
              e.saga, e.redrive_of, e.progress, e.heartbeats, t.was
  ),
  told as (
    insert into hf.history (execution_id, seq, at, fence, kind, body)
    select c.id, c.seq, c.claimed_at, c.fence, 'claimed',
           '{"session":"' || me.id || '","owner":' || to_json(me.owner)::text || ',"previous":"' || (array['none', 'parked', 'given-back', 'lost'])[c.was + 1] || '"}'
      from claimed c
     cross join me
  ),
  took as materialized (
    select c.lane, count(*) as n
      from claimed c
     where c.fruitless < ${SUSPECT_FROM}
     group by c.lane
  ),
  outlook as materialized (
    select (select count(*) from me) > 0 as is_live,
           (select g.waits from gate g) as gate,
           (select count(*) from seen) > (select coalesce(sum(t.n), 0) from took t join fair f on f.lane = t.lane where not f.is_one)
           or exists (select from allotted s join fair f on f.lane = s.lane left join took t on t.lane = s.lane where f.is_one and ${leftOver(scope)})
           ${ofAll(scope, `or exists (select from lost) and ((select count(*) from carrier) >= ${CLAIM_SCAN_MAX.sessions} or exists (select from abandoned e group by e.left_by having count(*) >= ${PART}))`)} as more,
           (select coalesce(bool_or(${OVERDUE}), false) from carrier c) as overdue,
           (select min(case s.source when ${READY} then ${firstIn(READY, 'and e.ready_at > (select now.at from now)')} else s.first_at end)
              from found s
             where s.source <> ${LOST}) - (select now.at from now) as next_in_ms,
           ${ofAll(scope, 'false', 'exists (select from dead)')} as takes_over,
           case when $11 then ${FLOORS} end as floors
  )
  select o.is_live, o.gate, o.more, o.overdue, o.next_in_ms, o.takes_over, o.floors, c.*
    from outlook o
    left join claimed c on true`;

export const CLAIM: Statement = statement(claimOf('all'));
export const CLAIM_READY: Statement = statement(claimOf('ready'));

/** Lists the executions that a claim would read, gated ones included, in the claim's order. */
export const CANDIDATES: Statement = statement(`
  with recursive ${spotsOf('all')}
  select s.lane, s.project, fair.part, (select count(distinct f.project) from found f where f.lane = s.lane and f.first_at <= (select now.at from now)) as projects, r.id, r.gated, r.at
    from found s
    join fair on fair.lane = s.lane
   cross join lateral (
         (select e.id, e.gated, e.ready_at as at from hf.execution e where s.source = ${READY} and ${IS_READY} order by e.ready_at, e.id limit fair.part)
         union all
         (select e.id, e.gated, e.ready_at from hf.execution e where s.source = ${GATED} and ${IS_READY.replace('not e.gated', 'e.gated')} order by e.ready_at, e.id limit $9)
         union all
         (select e.id, false, 0 from abandoned e where ${IS_LOST} limit fair.part)
         ) r
   where s.first_at <= (select now.at from now)
   order by s.lane, s.project, r.at, r.id`);
