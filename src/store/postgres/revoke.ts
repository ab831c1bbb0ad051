import { decideRevoke } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Revoke, Revoked } from '../../lease/port.ts';
import { type Database, statement } from './database.ts';
import { haltIfAhead } from './halt.ts';
import { loadTerm } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';
import { CARRYING_CHAIN, chainIsWhole, lookUp } from './predicates.ts';

const REVOKE = statement(`
  with ${CARRYING_CHAIN},
  revoked as (
    update hf.lease l
       set rev            = l.rev + 1,
           ended_at       = hf_now(),
           exit           = 'revoked',
           cause          = $5,
           actor          = $4,
           end_request_id = $3
     where l.key = $1
       and l.fence = $2 -- guard: fence
       and coalesce(l.ended_at is null, false) -- guard: ended
       and coalesce(l.drain_deadline_at > hf_now(), true) -- guard: drain-deadline
       and coalesce(l.hard_deadline_at > hf_now(), true) -- guard: hard-deadline
       and ${chainIsWhole('l.session_id')} -- guard: carried
    returning l.key, l.fence, l.rev, l.session_id, l.owner
  ),
  noticed as (
    update hf.session s
       set notices = s.notices + 1
      from revoked r
     where ${lookUp('s.id', 'r.session_id')}
  ),
  told as (
    insert into hf.event (at, kind, key, fence, rev, session_id, owner, detail)
    select hf_now(), 'ended', r.key, r.fence, r.rev, r.session_id, r.owner,
           jsonb_build_object('exit', 'revoked', 'cause', $5::text, 'actor', $4::text)
      from revoked r
  )
  select exists (select from hf.ticket t where t.key = $1) as awaited
    from revoked`);

export async function revoke(
  database: Database,
  policy: LeasePolicy,
  request: Revoke,
): Promise<{ readonly answer: Revoked; readonly awaited: boolean }> {
  const { key, fence, actor, reason } = request;
  const values = [key, fence, request.request, actor, reason];
  const [row] = await database.rows<{ awaited: boolean }>(REVOKE, values);
  if (row !== undefined) return { answer: { kind: 'revoked', replayed: false }, ...row };
  const { now, ...view } = await loadTerm(database, key);
  const decision = decideRevoke(view, request, { policy, now });
  if (decision.kind === 'apply') {
    noteLostRace('revoke', request);
    return revoke(database, policy, request);
  }
  if (decision.kind === 'replay') {
    return { answer: { kind: 'revoked', replayed: true }, awaited: false };
  }
  await haltIfAhead(database, fence, decision.refusal);
  return { answer: { kind: 'refused', ...decision.refusal }, awaited: false };
}
