import { decideRelease } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Release, Released } from '../../lease/port.ts';
import { type Database, statement } from './database.ts';
import { haltIfAhead } from './halt.ts';
import { loadTerm } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';
import { chainIsWhole, liveChain } from './predicates.ts';

const RELEASE = statement(`
  with ${liveChain('$3')},
  released as (
    update hf.lease l
       set rev            = l.rev + 1,
           ended_at       = hf_now(),
           exit           = $4,
           cause          = $5,
           reserved_for   = case when $4 = 'yielded' then l.drain_successor end,
           reserved_until = case when $4 = 'yielded' and l.drain_successor is not null then hf_now() + $6 end
     where l.key = $1
       and l.fence = $2 -- guard: fence
       and l.session_id is not distinct from $3 -- guard: session
       and coalesce(l.ended_at is null, false) -- guard: ended
       and coalesce(l.drain_deadline_at > hf_now(), true) -- guard: drain-deadline
       and coalesce(l.hard_deadline_at > hf_now(), true) -- guard: hard-deadline
       and ${chainIsWhole('$3')} -- guard: alive
    returning l.key, l.fence, l.rev, l.session_id, l.owner
  ),
  told as (
    insert into hf.event (at, kind, key, fence, rev, session_id, owner, detail)
    select hf_now(), 'ended', r.key, r.fence, r.rev, r.session_id, r.owner,
           jsonb_build_object('exit', $4::text, 'cause', $5::text)
      from released r
  )
  select exists (select from hf.ticket t where t.key = $1) as awaited
    from released`);

export async function release(
  database: Database,
  policy: LeasePolicy,
  request: Release,
): Promise<{ readonly answer: Released; readonly awaited: boolean }> {
  const [row] = await database.rows<{ awaited: boolean }>(RELEASE, [
    request.key,
    request.fence,
    request.session,
    request.exit,
    request.cause ?? null,
    policy.reservationMs,
  ]);
  if (row !== undefined) return { answer: { kind: 'released', replayed: false }, ...row };
  const { now, ...view } = await loadTerm(database, request.key);
  const decision = decideRelease(view, request, { policy, now });
  if (decision.kind === 'apply') {
    noteLostRace('release', request);
    return release(database, policy, request);
  }
  if (decision.kind === 'replay') {
    return { answer: { kind: 'released', replayed: true }, awaited: false };
  }
  await haltIfAhead(database, request.fence, decision.refusal);
  return { answer: { kind: 'refused', ...decision.refusal }, awaited: false };
}
