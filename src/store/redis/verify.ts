import { decideVerify } from '../../lease/decide/term.ts';
import { ownDeadline } from '../../lease/lease.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Verified, Verify } from '../../lease/port.ts';
import { authorityMs } from '../../lease/session.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import type { Database } from './database.ts';
import { TELL } from './events.ts';
import { refusedView, type TermReply } from './load-view.ts';
import { HALT } from './recover.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';
import { REFUSE_TERM } from './terms.ts';

// Reads; writes only the halt for a fence that was never issued.
const LOOK = script(`
  ${CHAINS}
  ${TELL}
  ${SAME_SERVER}
  ${HALT}
  ${REFUSE_TERM}
  local lease, lease_text = fetch(LEASES, ARGV[1])
  local holder_texts = {}
  if lease then holder_texts = select(2, chain_of(lease.session)) end
  return refuse_term(lease_text, holder_texts, { fence = ARGV[2], seen = ARGV[3], now = peek() })
`);

export function verify(
  database: Database,
  policy: LeasePolicy,
  request: Verify,
): Promise<Verified> {
  return onKnownServer(database, policy, async () => {
    const values = [request.key, request.fence, database.seen];
    const looked = refusedView(await database.run<TermReply>(LOOK, values));
    if (looked === undefined) return undefined;
    const { view, now } = looked;
    const decision = decideVerify(view, request, now);
    if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
    const deadline = view.lease === undefined ? undefined : ownDeadline(view.lease);
    const own = deadline === undefined ? Number.POSITIVE_INFINITY : deadline - now;
    return { kind: 'current', authorityMs: Math.min(own, authorityMs(view.holder, now)) };
  });
}
