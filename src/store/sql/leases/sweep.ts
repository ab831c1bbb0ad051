// Scripts that act on all sessions and leases. A sweep ends overdue sessions, records the ends of
// their terms and deletes old rows. SQLite runs all of it in one transaction, PostgreSQL each
// script in its own. After an outage, another script gives all living sessions more time.

import { endedLease } from '../../../lease/decide/term.ts';
import { endedEvent, sessionEndedEvent } from '../../../lease/event.ts';
import type { Fence } from '../../../lease/fence.ts';
import { termEnd } from '../../../lease/lease.ts';
import type { LeaseKey, Owner, SessionId } from '../../../lease/names.ts';
import type { LeasePolicy } from '../../../lease/policy.ts';
import { type Census, causeOfHold, decideReclaim } from '../../../lease/reclaim.ts';
import type { Instant } from '../../../support/clock.ts';
import { type LeaseRow, toChain, toLease } from '../../lease-rows.ts';
import { all, dialects, one, type Script, type Sql, sql } from '../script.ts';
import { appendLeaseEvents } from './events.ts';
import {
  both,
  type ChainColumn,
  type Dialect,
  leaseHeads,
  onPostgres,
  placeIsOver,
} from './views.ts';

// This list is no evidence that a session expired. `reclaim` checks again under the lock (E-2).
// Projects take turns, so that the sessions of one do not delay those of another.
const OVERDUE = both(
  ({ project }) => `
  select x.id
    from (select id, expires_at, row_number() over (partition by ${project} order by expires_at, id) as turn
            from hf.session
           where ended_at is null
             and expires_at <= hf_now()) as x
   order by x.turn, x.expires_at, x.id
   limit :limit`,
);

/** Lists the sessions of each project that are overdue for longest, and reports if there are more. */
export function* listOverdue(
  limit: number,
): Script<{ readonly candidates: readonly SessionId[]; readonly more: boolean }> {
  const rows = yield* all<{ id: SessionId }>(OVERDUE, { limit: limit + 1 });
  return { candidates: rows.slice(0, limit).map(({ id }) => id), more: rows.length > limit };
}

// Only one reclaim runs at a time, so that the breaker counts what the previous one did.
const TAKE_TURNS = onPostgres('select m.id from hf.meta m where m.id = 1 for update');

// Sessions without a project form a group of their own, whose name is null.
const COUNT_FRESH = both(
  ({ project }) => `
  select ${project} as project, count(*) as sessions, hf_now() as now
    from hf.session
   where ended_at is null
     and expires_at <= hf_now()
     and not extended
   group by 1`,
);

interface Fresh {
  readonly project: string | null;
  readonly sessions: number;
  readonly now: Instant;
}

const COUNT_LIVE = both(
  ({ project }) => `
  select count(*) as sessions
    from hf.session indexed by session_project
   where ended_at is null
     and ${project} is not distinct from :project::text`,
);

const COUNT_EXPIRED = both(
  ({ project }) => `
  select count(*) as sessions
    from hf.session
   where ended_at > hf_now() - :windowMs::bigint
     and exit = 'expired'
     and ${project} is not distinct from :project::text`,
);

const HOLD = both(
  ({ project }) => `
  update hf.session
     set expires_at = :until,
         extended   = true
   where ended_at is null
     and expires_at <= hf_now()
     and ${project} is not distinct from :project::text -- guard: project
     and not extended -- guard: extended
  returning id`,
);

// Locks in a fixed order. `for update` waits for all writes under way in these sessions.
const LOCK_OVERDUE = onPostgres(`
  select s.id
    from hf.session s
   where s.id = any (:ids::uuid[])
   order by s.id
     for update`);

// A heartbeat that commits first wins (E-2).
const EXPIRE = sql(`
  update hf.session
     set ended_at = hf_now(),
         exit     = 'expired'
   where id = any (:ids::uuid[])
     and ended_at is null -- guard: ended
     and expires_at <= hf_now() -- guard: expiry
  returning id, owner, ended_at`);

export interface Reclaimed {
  readonly expired: readonly SessionId[];
  readonly paused: number;
}

/** Expires the overdue sessions among `candidates`, unless the breaker holds them back (E-8). */
export function* reclaim(candidates: readonly SessionId[], policy: LeasePolicy): Script<Reclaimed> {
  if (candidates.length === 0) return { expired: [], paused: 0 };
  yield* all(TAKE_TURNS);
  const paused = yield* holdBack(policy);
  const ids = candidates;
  yield* all(LOCK_OVERDUE, { ids });
  const expired = yield* all<{ id: SessionId; owner: Owner; ended_at: Instant }>(EXPIRE, { ids });
  yield* appendLeaseEvents(
    expired.map((session) => sessionEndedEvent(session, { at: session.ended_at, exit: 'expired' })),
  );
  return { expired: expired.map(({ id }) => id), paused };
}

/** Returns the number of sessions that got more time. */
function* holdBack(policy: LeasePolicy): Script<number> {
  let held = 0;
  // This counts the other sessions of a project only if it has newly overdue ones.
  for (const { project, sessions, now } of yield* all<Fresh>(COUNT_FRESH)) {
    const windowMs = policy.breakerWindowMs;
    const census: Census = {
      live: yield* count(COUNT_LIVE, { project }),
      overdueFresh: sessions,
      expiredInWindow: yield* count(COUNT_EXPIRED, { project, windowMs }),
    };
    const decision = decideReclaim(census, policy, now);
    if (decision.kind === 'expire') continue;
    held += (yield* all(HOLD, { project, until: decision.until })).length;
    const cause = causeOfHold(project ?? undefined, census);
    yield* appendLeaseEvents([{ kind: 'alarm', at: now, alarm: 'mass-expiry', cause }]);
  }
  return held;
}

function* count(text: Sql, values: object): Script<number> {
  return (yield* one<{ sessions: number }>(text, values))?.sessions ?? 0;
}

/**
 * Finds the sessions that carry terms by stepping through the index. The cost depends on the number
 * of these sessions, not of terms. The last row is null.
 */
const HOLDING_SESSIONS = `
  carrier (id) as (
    select min(session_id) from lease where ended_at is null
    union all
    select (select min(session_id) from lease where ended_at is null and session_id > carrier.id)
      from carrier
     where carrier.id is not null)`;

// Finds terms whose end follows from other rows: a deadline passed, or their session or an ancestor
// ended or is unknown (E-5). Each part uses an index and does not visit terms that continue.
const IMPLIED = dialects({
  sqlite: `
  with recursive ${HOLDING_SESSIONS}
  select key from lease indexed by lease_drain where ended_at is null and drain_deadline_at <= hf_now()
  union
  select key from lease indexed by lease_tenure where ended_at is null and hard_deadline_at <= hf_now()
  union
  select lease.key
    from carrier
    join lease on lease.session_id = carrier.id and lease.ended_at is null
   where carrier.id is not null
     and not exists (
           select 1
             from session as holder
            where holder.id = carrier.id
              and not exists (
                    select 1
                      from json_each(holder.path) as step
                      join session as member on member.id = step.value
                     where member.ended_at is not null))
   limit :limit`,
  postgres: `
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
      union
      select l.key
        from hf.lease l
       where l.ended_at is null
         and not exists (select from hf.session s where s.id = l.session_id)
    ) c
   limit :limit`,
});

// An unknown session counts only if a separate statement looks for it after the lease's row is
// locked. Within one statement, a session that opened a moment ago would be missing too.
const LOCK_TERMS = both(
  (d) => `
  select hf_now() as now, ${leaseHeads(d)}
    from hf.lease as l
   where l.key = any (:keys::text[])
     and coalesce(l.ended_at is null, false) -- guard: unrecorded
   order by l.key
     for no key update of l`,
);

const HOLDERS = both(
  (d) => `
  select h.id, ${d.chainOf('h.id')} as chain
    from hf.session as h
   where h.id = any (:sessions::uuid[])`,
);

const ENDED = {
  ...{ key: 'text', fence: 'bigint', rev: 'bigint', ended_at: 'bigint', exit: 'text' },
  ...{ cause: 'text', actor: 'text', reserved_for: 'text', reserved_until: 'bigint' },
};

const RECORD = both(
  (d) => `
  update hf.lease as l
     set rev            = e.rev,
         ended_at       = e.ended_at,
         exit           = e.exit,
         cause          = e.cause,
         actor          = e.actor,
         reserved_for   = e.reserved_for,
         reserved_until = e.reserved_until
    from ${d.records(':ended', ENDED)} as e
   where l.key == e.key
     and l.fence = e.fence`,
);

export interface EndedTerm {
  readonly key: LeaseKey;
  readonly fence: Fence;
}

/** Writes the ends that follow from a session or a deadline into the rows of the leases. */
export function* recordImpliedEnds(
  limit: number,
  policy: LeasePolicy,
): Script<readonly EndedTerm[]> {
  const implied = yield* all<{ key: LeaseKey }>(IMPLIED, { limit });
  return implied.length === 0
    ? []
    : yield* recordEnds(
        implied.map(({ key }) => key),
        policy,
      );
}

/** Records the ends of the terms of these keys, where they have ended without a record (E-3). */
export function* recordEnds(
  keys: readonly LeaseKey[],
  policy: LeasePolicy,
): Script<readonly EndedTerm[]> {
  const rows = yield* all<LeaseRow & { now: Instant }>(LOCK_TERMS, { keys });
  const sessions = [...new Set(rows.map((row) => row.session_id))];
  const found = yield* all<{ id: string; chain: ChainColumn }>(HOLDERS, { sessions });
  const chains = new Map(found.map(({ id, chain }) => [id, toChain(chain)]));
  const ended = rows.flatMap((row) => {
    const lease = toLease(row);
    const end = termEnd(lease, chains.get(row.session_id) ?? [], row.now);
    return end === undefined ? [] : [{ lease: endedLease(lease, end, policy), end, now: row.now }];
  });
  if (ended.length === 0) return [];
  const records = ended.map(({ lease: { key, fence, rev, reservation }, end }) => ({
    ...{ key, fence, rev, ended_at: end.at, exit: end.exit, cause: end.cause, actor: end.actor },
    reserved_for: reservation?.for,
    reserved_until: reservation?.until,
  }));
  yield* all(RECORD, { ended: JSON.stringify(records) });
  yield* appendLeaseEvents(ended.map(({ lease, end, now }) => endedEvent(lease, end, now)));
  return ended.map(({ lease: { key, fence } }) => ({ key, fence }));
}

const DROP_TICKETS = both(
  (d) => `
  delete from hf.ticket
   where ${placeIsOver(d, 'ticket')}`,
);

export function* dropDeadTickets(): Script<void> {
  yield* all(DROP_TICKETS);
}

const HAS_RETIRED = sql(`
  select 1 as some
    from hf.lease
   where exit = 'retired'
     and ended_at <= hf_now() - :retentionMs::bigint
   limit 1`);

// The first grant of a key mints its fence before the key has a row to lock. This lock waits for
// all grants under way, so that none of them still has a fence older than a row deleted here (T-2).
const ALONE = onPostgres('lock table hf.lease in share row exclusive mode');

// A sweep deletes only retired keys (L-6).
const DELETE_RETIRED = both(
  (d) => `
  with old as (
    select l.key
      from hf.lease as l
     where l.exit = 'retired' -- guard: retired
       and l.ended_at <= hf_now() - :retentionMs::bigint -- guard: retention
     order by l.ended_at
     limit :limit
       for update skip locked
  )
  delete from hf.lease
   where ${d.among('key', 'select o.key from old as o')}
  returning key`,
);

/** Returns the number of deleted keys. */
export function* deleteRetired(limit: number, { retentionMs }: LeasePolicy): Script<number> {
  if ((yield* all(HAS_RETIRED, { retentionMs })).length === 0) return 0;
  yield* all(ALONE);
  return (yield* all(DELETE_RETIRED, { retentionMs, limit })).length;
}

// A session stays while it or a descendant lives, or carries a term without a recorded end.
const DELETE_SESSIONS = dialects({
  sqlite: `
  with recursive ${HOLDING_SESSIONS}
  delete from session
   where id in (
           select id
             from session
            where ended_at <= hf_now() - :retentionMs
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
            limit :limit)
  returning id`,
  postgres: `
  with old as (
    select s.id
      from hf.session s
     where s.ended_at <= hf_now() - :retentionMs::bigint -- guard: session-retention (postgres)
       and not exists (select from hf.lease l where l.session_id = s.id and l.ended_at is null) -- guard: carried (postgres)
       and not exists (select from hf.session d where d.path @> array[s.id] and d.id <> s.id and (d.ended_at is null or exists (select from hf.lease l where l.session_id = d.id and l.ended_at is null))) -- guard: descendants (postgres)
     limit :limit
       for update skip locked
  )
  delete from hf.session s
   using old
   where s.id == old.id
  returning s.id`,
});

// Event times ascend with seq, so the oldest events come first.
const DELETE_EVENTS = dialects({
  sqlite: `
  delete from event
   where seq in (select seq from event order by seq limit :limit)
     and at <= hf_now() - :retentionMs
  returning seq`,
  postgres: `
  with deleted as (
    delete from hf.event e
     where e.seq in (select o.seq from hf.event o where o.at <= hf_now() - :retentionMs::bigint order by o.seq limit :limit)
    returning e.seq
  ),
  noted as (
    update hf.meta m
       set events_deleted = greatest(m.events_deleted, (select max(d.seq) from deleted d))
     where m.id = 1
       and exists (select from deleted)
  )
  select d.seq from deleted d`,
});

const DELETE_FLAPS = sql('delete from hf.flap where until <= hf_now()');

/** Returns the number of deleted sessions and events. */
export function* deleteOld(limit: number, { retentionMs }: LeasePolicy): Script<number> {
  let deleted = 0;
  for (const text of [DELETE_SESSIONS, DELETE_EVENTS]) {
    if (deleted >= limit) break;
    deleted += (yield* all(text, { retentionMs, limit: limit - deleted })).length;
  }
  yield* all(DELETE_FLAPS);
  return deleted;
}

// Extends a session at most once per heartbeat, so that repeated outages cannot extend it for ever
// (E-6). The new expiry equals `fairChanceUntil`.
const extending = (d: Dialect, also = ''): string => {
  const until = `hf_now() + ${d.least('ttl_ms', ':recoveryGraceMs::bigint')}`;
  return `
  update hf.session
     set expires_at = ${until},
         extended   = true
   where ended_at is null -- guard: living
     and not extended -- guard: once
     and expires_at < ${until} -- guard: extend${also}
  returning id`;
};

const EXTEND = both((d) => extending(d));

// A session beats every third of its ttl. If another one still got through to a coordinator half a
// ttl after its last heartbeat, its own process was silent, and no coordinator was away (E-10).
const EXTEND_REMOTE = both((d) => {
  const living = `select beat_at, ${d.project} as project from hf.session where ended_at is null`;
  const newest = `select max(other.beat_at) from (${living}) as other where other.project is not null`;
  return extending(
    d,
    `
     and ${d.project} is not null -- guard: remote
     and beat_at + ttl_ms / 2 > (${newest}) -- guard: together`,
  );
});

/** Returns the number of sessions that got more time. */
export function* extendLiving(
  { recoveryGraceMs }: LeasePolicy,
  { remote = false }: { readonly remote?: boolean } = {},
): Script<number> {
  return (yield* all(remote ? EXTEND_REMOTE : EXTEND, { recoveryGraceMs })).length;
}
