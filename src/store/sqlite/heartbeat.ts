import { decideHeartbeat, lifeOf } from '../../lease/decide/session.ts';
import { clampTtl } from '../../lease/policy.ts';
import type { Heartbeat, HeartbeatResult } from '../../lease/port.ts';
import type { SessionRecord } from '../../lease/session.ts';
import { assert } from '../../support/assert.ts';
import { type SessionRow, toSession } from '../lease-rows.ts';
import { loadChain } from './load-view.ts';
import type { Transaction } from './transaction.ts';

// Updates one row, however many leases the session carries. `max` extends the expiry or leaves it
// as it is. `:ttlMs` is clamped.
const BEAT = `
  update session
     set ttl_ms = min(max(coalesce(:ttlMs, ttl_ms), :ttlMsMin), :ttlMsMax),
         grace_ms = min(grace_ms, cast(min(max(coalesce(:ttlMs, ttl_ms), :ttlMsMin), :ttlMsMax) / 2 as integer)),
         beat_at = :now,
         expires_at = max(expires_at, :now + min(max(coalesce(:ttlMs, ttl_ms), :ttlMsMin), :ttlMsMax)),
         extended = 0
   where id = :id
     and owner = :owner                                     -- guard: owner
     and (:ttlMs is null or :now + :ttlMs >= expires_at)    -- guard: shorten
     and expires_at - grace_ms > :now                       -- guard: lapse
     and not exists (
           select 1
             from json_each(session.path) as step
             join session as member on member.id = step.value
            where false
               or member.ended_at is not null    -- guard: ended
         )
  returning id, owner, path, ttl_ms, grace_ms, opened_at, beat_at, expires_at, extended, notices,
            ended_at, exit, cause, actor`;

// Rejoins are rare. `decideHeartbeat` decides in the same transaction (G-3).
const REJOIN = `
  update session
     set ttl_ms = :ttlMs,
         grace_ms = :graceMs,
         beat_at = :now,
         expires_at = :expiresAt,
         extended = 0
   where id = :id`;

export function heartbeat(tx: Transaction, request: Heartbeat): HeartbeatResult {
  const { now, policy } = tx;
  const row = tx.get<SessionRow>(BEAT, {
    id: request.id,
    owner: request.owner,
    ttlMs: request.ttlMs === undefined ? null : clampTtl(policy, request.ttlMs),
    ttlMsMin: policy.ttlMsMin,
    ttlMsMax: policy.ttlMsMax,
    now,
  });
  if (row !== undefined) return alive(tx, toSession(row), false);

  const decision = decideHeartbeat(loadChain(tx, request.id), request, { policy, now });
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  assert(decision.rejoined, 'R-2: a heartbeat that may extend was not applied by its statement');
  return rejoin(tx, decision.session);
}

function rejoin(tx: Transaction, session: SessionRecord): HeartbeatResult {
  const { id, owner, ttlMs, graceMs, expiresAt } = session;
  tx.run(REJOIN, { id, ttlMs, graceMs, expiresAt, now: tx.now });
  tx.append({ kind: 'session-rejoined', at: tx.now, session: id, owner });
  return alive(tx, session, true);
}

function alive(tx: Transaction, session: SessionRecord, rejoined: boolean): HeartbeatResult {
  const chain = session.path.length === 1 ? [session] : loadChain(tx, session.id);
  return { kind: 'alive', rejoined, ...lifeOf(chain, tx.now) };
}
