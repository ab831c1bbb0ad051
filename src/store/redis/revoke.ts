import { decideRevoke } from '../../lease/decide/operate.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Revoke, Revoked } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import type { Database } from './database.ts';
import { HINTS, TELL } from './events.ts';
import { kindOf, refusedView, type TermReply } from './load-view.ts';
import { HALT } from './recover.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';
import { END_TERM, REFUSE_TERM, TERMS } from './terms.ts';

const REVOKE = script(`
  ${CHAINS}
  ${TELL}
  ${HINTS}
  ${SAME_SERVER}
  ${HALT}
  ${TERMS}
  ${END_TERM}
  ${REFUSE_TERM}
  local fence, now = ARGV[2], tick()
  local lease, lease_text = fetch(LEASES, ARGV[1])
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end
  local isAllowed = lease
    and lease.fence == fence                      -- guard: fence
    and not end_of(lease, holder, now)            -- guard: over
  if not isAllowed then
    return refuse_term(lease_text, holder_texts, { fence = fence, seen = ARGV[6], now = now })
  end
  local ended = { at = now, exit = 'revoked', cause = ARGV[5], actor = ARGV[4], request = ARGV[3] }
  end_term(lease, ended, { now = now, reservationMs = 0 })
  local session = holder[#holder]
  session.notices = session.notices + 1
  save(SESSIONS, session.id, session)
  return { 'revoked', now }
`);

export function revoke(database: Database, policy: LeasePolicy, request: Revoke): Promise<Revoked> {
  const { key, fence, actor, reason } = request;
  return onKnownServer(database, policy, async () => {
    const values = [key, fence, request.request, actor, reason, database.seen];
    const reply = await database.run<TermReply>(REVOKE, values);
    if (kindOf(reply) === 'revoked') return { kind: 'revoked', replayed: false };
    const refused = refusedView(reply);
    if (refused === undefined) return undefined;
    const { view, now } = refused;
    const decision = decideRevoke(view, request, { policy, now });
    assert(decision.kind !== 'apply', 'V-3: a term that may be revoked was not');
    return decision.kind === 'replay'
      ? { kind: 'revoked', replayed: true }
      : { kind: 'refused', ...decision.refusal };
  });
}
