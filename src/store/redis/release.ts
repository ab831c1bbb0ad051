import { decideRelease } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Release, Released } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import { type Database, optional } from './database.ts';
import { HINTS, TELL } from './events.ts';
import { kindOf, refusedView, type TermReply } from './load-view.ts';
import { HALT } from './recover.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';
import { END_TERM, REFUSE_TERM, TERMS } from './terms.ts';

const RELEASE = script(`
  ${CHAINS}
  ${TELL}
  ${HINTS}
  ${SAME_SERVER}
  ${HALT}
  ${TERMS}
  ${END_TERM}
  ${REFUSE_TERM}
  local tenure = { fence = ARGV[2], session = ARGV[3], seen = ARGV[7], now = tick() }
  local lease, lease_text = fetch(LEASES, ARGV[1])
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end
  if not is_held(lease, holder, tenure) then return refuse_term(lease_text, holder_texts, tenure) end
  local ended = { at = tenure.now, exit = ARGV[4], cause = given(ARGV[5]) }
  end_term(lease, ended, { now = tenure.now, reservationMs = tonumber(ARGV[6]) })
  return { 'released', tenure.now }
`);

export function release(
  database: Database,
  policy: LeasePolicy,
  request: Release,
): Promise<Released> {
  const { key, fence, session, exit, cause } = request;
  return onKnownServer(database, policy, async () => {
    const { reservationMs } = policy;
    const values = [key, fence, session, exit, optional(cause), reservationMs, database.seen];
    const reply = await database.run<TermReply>(RELEASE, values);
    if (kindOf(reply) === 'released') return { kind: 'released', replayed: false };
    const refused = refusedView(reply);
    if (refused === undefined) return undefined;
    const { view, now } = refused;
    const decision = decideRelease(view, request, { policy, now });
    assert(decision.kind !== 'apply', 'L-1: a term that may be released was not');
    return decision.kind === 'replay'
      ? { kind: 'released', replayed: true }
      : { kind: 'refused', ...decision.refusal };
  });
}
