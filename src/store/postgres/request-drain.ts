import { decideDrain } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { DrainAnswer, RequestDrain } from '../../lease/port.ts';
import { type Database, statement } from './database.ts';
import { haltIfAhead } from './halt.ts';
import { loadTerm } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';
import { CARRYING_CHAIN, chainIsWhole, lookUp } from './predicates.ts';

// The session's row is written too: its expiry is read under that lock, and a heartbeat that comes
// later sees the new notice, so the holder is never promised more than the deadline (V-1).
const DRAIN = statement(`
  with ${CARRYING_CHAIN},
  target as (
    select l.key, l.session_id
      from hf.lease l
     where l.key = $1
       and l.fence = $2 -- guard: fence
       and coalesce(l.ended_at is null, false) -- guard: ended
       and coalesce(l.hard_deadline_at > hf_now(), true) -- guard: hard-deadline
       and ${chainIsWhole('l.session_id')} -- guard: carried
       and l.drain_request_id is null -- guard: draining
       for no key update of l
  ),
  promised as (
    update hf.session s
       set notices = s.notices + 1
      from target
     where ${lookUp('s.id', 'target.session_id')}
       and coalesce(s.ended_at is null, false) -- guard: session-ended
       and s.expires_at > hf_now() -- guard: session-expiry
       and not exists (select from hf.session a where a.id = any (s.path) and a.expires_at <= hf_now()) -- guard: expiry
    returning s.id, s.expires_at
  ),
  drained as (
    update hf.lease l
       set rev                = l.rev + 1,
           drain_request_id   = $3,
           drain_by           = $4,
           drain_reason       = $5,
           drain_requested_at = hf_now(),
           drain_deadline_at  = greatest(hf_now() + $6::bigint, promised.expires_at),
           drain_successor    = $7
      from promised
     where l.key = $1
       and l.fence = $2
    returning l.*
  ),
  told as (
    insert into hf.event (at, kind, key, fence, rev, session_id, owner, detail)
    select hf_now(), 'drain-requested', d.key, d.fence, d.rev, d.session_id, d.owner,
           jsonb_build_object('actor', d.drain_by, 'cause', d.drain_reason, 'deadlineAt', d.drain_deadline_at)
      from drained d
  )
  select d.drain_deadline_at - hf_now() as deadline_in_ms
    from drained d`);

export async function requestDrain(
  database: Database,
  policy: LeasePolicy,
  request: RequestDrain,
): Promise<DrainAnswer> {
  const [row] = await database.rows<{ deadline_in_ms: number }>(DRAIN, [
    request.key,
    request.fence,
    request.request,
    request.by,
    request.reason,
    request.deadlineMs,
    request.successor ?? null,
  ]);
  if (row !== undefined) {
    return { kind: 'draining', deadlineInMs: row.deadline_in_ms, replayed: false };
  }
  const { now, ...view } = await loadTerm(database, request.key);
  const decision = decideDrain(view, request, { policy, now });
  if (decision.kind === 'apply') {
    noteLostRace('requestDrain', request);
    return requestDrain(database, policy, request);
  }
  if (decision.kind === 'replay') {
    const deadlineInMs = decision.drain.deadlineAt - now;
    return { kind: 'draining', deadlineInMs, replayed: true };
  }
  await haltIfAhead(database, request.fence, decision.refusal);
  return { kind: 'refused', ...decision.refusal };
}
