import { decideEnd } from '../../lease/decide/session.ts';
import type { EndSession, SessionEnded } from '../../lease/port.ts';
import { type Database, statement } from './database.ts';
import { loadChains } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';
import { lookUp } from './predicates.ts';

// One write ends every lease of the session and of its descendants (H-1). `for update` waits for
// every write that is under way under this session, so none of them lands after the end.
const END = statement(`
  with target as (
    select s.id
      from hf.session s
     where s.id = $1
       and s.ended_at is null -- guard: ended
       and ($2::text is null or s.owner = $2) -- guard: owner
       and ($2::text is null or s.expires_at > hf_now()) -- guard: expiry
       and ($2::text is null or not exists (select from hf.session a where a.id = any (s.path) and a.id <> s.id and (a.ended_at is not null or a.expires_at <= hf_now()))) -- guard: parent
       for update of s
  ),
  ended as (
    update hf.session s
       set ended_at = hf_now(),
           exit     = $3,
           cause    = $4,
           actor    = $5
      from target
     where ${lookUp('s.id', 'target.id')}
    returning s.id, s.owner
  )
  insert into hf.event (at, kind, session_id, owner, detail)
  select hf_now(), 'session-ended', ended.id, ended.owner,
         jsonb_build_object('exit', $3::text, 'cause', $4::text, 'actor', $5::text)
    from ended
  returning seq`);

export async function endSession(database: Database, request: EndSession): Promise<SessionEnded> {
  const { id, by } = request;
  const values =
    by.kind === 'owner'
      ? [id, by.owner, by.exit, null, null]
      : [id, null, 'revoked', by.reason, by.actor];
  const ended = await database.rows(END, values);
  if (ended.length > 0) return { kind: 'ended', replayed: false };

  const { now, chains } = await loadChains(database, [id]);
  const decision = decideEnd(chains[0] ?? [], request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'replay') return { kind: 'ended', replayed: true };
  noteLostRace('endSession', request);
  return endSession(database, request);
}
