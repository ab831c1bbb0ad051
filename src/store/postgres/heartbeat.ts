import { decideHeartbeat } from '../../lease/decide/session.ts';
import type { SessionId } from '../../lease/names.ts';
import { clampTtl, type LeasePolicy } from '../../lease/policy.ts';
import type { Heartbeat, HeartbeatResult } from '../../lease/port.ts';
import { adoptServer } from './adopt-server.ts';
import { Committer, SYSTEM } from './committer.ts';
import { type Database, type Statement, statement } from './database.ts';
import { sparse, texts, uuids } from './executions/arrays.ts';
import { loadChains } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';
import { equalsByIndex, SAME_SERVER } from './predicates.ts';

// One statement for the sessions of a flush. Each costs one row, whatever the number of its leases
// (S-1). `greatest` never shortens the expiry. A flush skips a session that another transaction
// has locked, so that its neighbours do not wait for that lock.
const beatWith = (skipLocked: string) => `
  with given as materialized (
    select u.owner, u.ttl_ms, s.id
      from unnest($1::uuid[], $2::text[], $3::bigint[]) as u(id, owner, ttl_ms)
     cross join lateral (
           select s.id
             from hf.session s
            where ${equalsByIndex('s.id', 'u.id')}
              for no key update of s ${skipLocked}
           ) s
  ),
  beat as (
    update hf.session s
       set ttl_ms     = coalesce(u.ttl_ms, s.ttl_ms),
           grace_ms   = least(s.grace_ms, coalesce(u.ttl_ms, s.ttl_ms) / 2),
           beat_at    = hf_now(),
           expires_at = greatest(s.expires_at, hf_now() + coalesce(u.ttl_ms, s.ttl_ms)),
           extended   = false,
           rejoined   = s.expires_at - s.grace_ms <= hf_now()
      from given u
     where ${equalsByIndex('s.id', 'u.id')}
       and s.owner = u.owner -- guard: owner
       and not coalesce(s.ended_at is not null, false) -- guard: ended
       and (u.ttl_ms is null or hf_now() + u.ttl_ms >= s.expires_at) -- guard: shorten
       and ${SAME_SERVER} -- guard: server
       and (cardinality(s.path) = 1 or not exists (select from hf.session a where a.id = any (s.path) and a.id <> s.id and coalesce(a.ended_at is not null, false))) -- guard: parent
    returning s.id, s.owner, s.path, s.ttl_ms, s.grace_ms, s.expires_at, s.rejoined, s.notices
  ),
  rejoined as (
    insert into hf.event (at, kind, session_id, owner)
    select hf_now(), 'session-rejoined', beat.id, beat.owner
      from beat
     where beat.rejoined
  )
  select beat.id,
         beat.ttl_ms,
         beat.grace_ms,
         beat.rejoined,
         beat.notices,
         least(beat.expires_at - beat.grace_ms, above.lapses_at) - hf_now() as authority_ms,
         least(beat.expires_at, above.expires_at) - hf_now() as remaining_ms
    from beat
    left join lateral (
         select min(a.expires_at - a.grace_ms) as lapses_at, min(a.expires_at) as expires_at
           from hf.session a
          where a.id = any (beat.path)
            and a.id <> beat.id
         ) above on cardinality(beat.path) > 1`;

const BEAT = statement(beatWith(''));
const BEAT_UNLOCKED = statement(beatWith('skip locked'));

interface BeatRow {
  readonly id: SessionId;
  readonly ttl_ms: number;
  readonly grace_ms: number;
  readonly rejoined: boolean;
  readonly notices: number;
  readonly authority_ms: number;
  readonly remaining_ms: number;
}

/** One transaction for the heartbeats of many sessions, on one connection. */
export function heartbeats(
  database: Database,
  policy: LeasePolicy,
): Committer<Heartbeat, HeartbeatResult> {
  return new Committer<Heartbeat, HeartbeatResult>(
    {
      lanes: 1,
      // Its owner repeats a heartbeat, and counts its authority from then.
      repeatMs: 0,
      keysOf: ({ id }) => id,
      // PostgreSQL would refuse the statement, with all its neighbours.
      fits: ({ owner }) => !owner.includes('\0'),
      charsOf: ({ owner }) => owner.length,
      async flush(requests) {
        const rows = await beat(database, policy, { statement: BEAT_UNLOCKED, requests });
        const found = new Map(rows.map((row) => [row.id, aliveOf(row)]));
        return requests.map(({ id }) => found.get(id));
      },
      settle: (request) => settle(database, policy, request),
    },
    SYSTEM,
  );
}

interface Beats {
  readonly statement: Statement;
  readonly requests: readonly Heartbeat[];
}

function beat(
  database: Database,
  policy: LeasePolicy,
  { statement, requests }: Beats,
): Promise<readonly BeatRow[]> {
  return database.rows<BeatRow>(statement, [
    uuids(requests.map(({ id }) => id)),
    texts(requests.map(({ owner }) => owner)),
    sparse(
      requests.map(({ ttlMs }) => (ttlMs === undefined ? undefined : clampTtl(policy, ttlMs))),
    ),
  ]);
}

function aliveOf(row: BeatRow): HeartbeatResult {
  return {
    kind: 'alive',
    rejoined: row.rejoined,
    ttlMs: row.ttl_ms,
    graceMs: row.grace_ms,
    authorityMs: row.authority_ms,
    remainingMs: row.remaining_ms,
    notices: row.notices,
  };
}

/** The flush did not write it: explains why, or writes it alone and waits for its lock. */
async function settle(
  database: Database,
  policy: LeasePolicy,
  request: Heartbeat,
): Promise<HeartbeatResult> {
  const adopted = await adoptServer(database, policy);
  const { now, chains } = await loadChains(database, [request.id]);
  const decision = decideHeartbeat(chains[0] ?? [], request, { policy, now });
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  // The server restarted, or another transaction changed or locked the row. Try again.
  if (adopted || decision.kind === 'beat') {
    noteLostRace('heartbeat', request);
    const [row] = await beat(database, policy, { statement: BEAT, requests: [request] });
    return row === undefined ? settle(database, policy, request) : aliveOf(row);
  }
  return decision;
}
