import { decideHeartbeat } from '../../lease/decide/session.ts';
import { clampTtl, type LeasePolicy } from '../../lease/policy.ts';
import type { Heartbeat, HeartbeatResult } from '../../lease/port.ts';
import { adoptServer } from './adopt-server.ts';
import { type Database, statement } from './database.ts';
import { loadChains } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';
import { SAME_SERVER } from './predicates.ts';

// Updates one row, whatever the number of leases (S-1). `greatest` never shortens the expiry.
const BEAT = statement(`
  with beat as (
    update hf.session s
       set ttl_ms     = coalesce($3, s.ttl_ms),
           grace_ms   = least(s.grace_ms, coalesce($3, s.ttl_ms) / 2),
           beat_at    = hf_now(),
           expires_at = greatest(s.expires_at, hf_now() + coalesce($3, s.ttl_ms)),
           extended   = false,
           rejoined   = s.expires_at - s.grace_ms <= hf_now()
     where s.id = $1
       and s.owner = $2 -- guard: owner
       and s.ended_at is null -- guard: ended
       and ($3::bigint is null or hf_now() + $3 >= s.expires_at) -- guard: shorten
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
  select beat.ttl_ms,
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
         ) above on cardinality(beat.path) > 1`);

interface BeatRow {
  readonly ttl_ms: number;
  readonly grace_ms: number;
  readonly rejoined: boolean;
  readonly notices: number;
  readonly authority_ms: number;
  readonly remaining_ms: number;
}

export async function heartbeat(
  database: Database,
  policy: LeasePolicy,
  request: Heartbeat,
): Promise<HeartbeatResult> {
  const ttlMs = request.ttlMs === undefined ? null : clampTtl(policy, request.ttlMs);
  const [row] = await database.rows<BeatRow>(BEAT, [request.id, request.owner, ttlMs]);
  if (row !== undefined) {
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
  const adopted = await adoptServer(database, policy);
  const { now, chains } = await loadChains(database, [request.id]);
  const decision = decideHeartbeat(chains[0] ?? [], request, { policy, now });
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  // The server restarted, or another heartbeat changed the row. Try again.
  if (adopted || decision.kind === 'beat') {
    noteLostRace('heartbeat', request);
    return heartbeat(database, policy, request);
  }
  return decision;
}
