import { decideDrain } from '../../lease/decide/operate.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { DrainAnswer, RequestDrain } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import { type Database, optional } from './database.ts';
import { TELL } from './events.ts';
import { kindOf, refusedView, type TermReply } from './load-view.ts';
import { HALT } from './recover.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';
import { REFUSE_TERM, TERMS } from './terms.ts';

// V-1: the holder was promised authority up to its session's expiry and may not have heard of this.
const DRAIN = script(`
  ${CHAINS}
  ${TELL}
  ${SAME_SERVER}
  ${HALT}
  ${TERMS}
  ${REFUSE_TERM}
  local key, fence, now = ARGV[1], ARGV[2], tick()
  local lease, lease_text = fetch(LEASES, key)
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end
  local isAllowed = lease
    and lease.fence == fence                      -- guard: fence
    and not end_of(lease, holder, now)            -- guard: over
    and #overdue_in(holder, now) == 0             -- guard: expiry
    and not lease.drain                           -- guard: draining
  if not isAllowed then
    return refuse_term(lease_text, holder_texts, { fence = fence, seen = ARGV[8], now = now })
  end
  local session = holder[#holder]
  lease.rev = lease.rev + 1
  lease.drain = {
    request = ARGV[3], by = ARGV[4], reason = ARGV[5], requestedAt = now, successor = given(ARGV[7]),
    deadlineAt = math.max(now + tonumber(ARGV[6]), session.expiresAt),
  }
  save(LEASES, key, lease)
  redis.call('ZADD', DEADLINES, own_deadline(lease), key)
  session.notices = session.notices + 1
  save(SESSIONS, session.id, session)
  local drain = lease.drain
  tell_term('drain-requested', lease, now, { actor = drain.by, cause = drain.reason, deadlineAt = drain.deadlineAt })
  return { 'draining', drain.deadlineAt - now }
`);

export function requestDrain(
  database: Database,
  policy: LeasePolicy,
  request: RequestDrain,
): Promise<DrainAnswer> {
  return onKnownServer(database, policy, async () => {
    const reply = await database.run<TermReply>(DRAIN, [
      request.key,
      request.fence,
      request.request,
      request.by,
      request.reason,
      request.deadlineMs,
      optional(request.successor),
      database.seen,
    ]);
    if (kindOf(reply) === 'draining') {
      return { kind: 'draining', deadlineInMs: reply[1], replayed: false };
    }
    const refused = refusedView(reply);
    if (refused === undefined) return undefined;
    const { view, now } = refused;
    const decision = decideDrain(view, request, now);
    assert(decision.kind !== 'apply', 'V-1: a term that may be drained was not');
    if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
    const deadlineInMs = decision.drain.deadlineAt - now;
    return { kind: 'draining', deadlineInMs, replayed: true };
  });
}
