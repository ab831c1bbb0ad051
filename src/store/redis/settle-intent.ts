import { decideSettleIntent } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { IntentSettled, SettleIntent } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import type { Database } from './database.ts';
import { TELL } from './events.ts';
import { kindOf, refusedView, type TermReply } from './load-view.ts';
import { HALT } from './recover.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';
import { REFUSE_TERM, TERMS } from './terms.ts';

const SETTLE = script(`
  ${CHAINS}
  ${TELL}
  ${SAME_SERVER}
  ${HALT}
  ${TERMS}
  ${REFUSE_TERM}
  local key, effect = ARGV[1], ARGV[4]
  local tenure = { fence = ARGV[2], session = ARGV[3], seen = ARGV[5], now = tick() }
  local lease, lease_text = fetch(LEASES, key)
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end
  local left = {}
  for _, intent in ipairs(lease and lease.intents or {}) do
    if intent.effect ~= effect then left[#left + 1] = intent end
  end
  local isAllowed = is_held(lease, holder, tenure)
    and #left < #(lease.intents or {}) -- guard: open
  if not isAllowed then return refuse_term(lease_text, holder_texts, tenure) end
  lease.rev = lease.rev + 1
  lease.intents = #left > 0 and left or nil
  save(LEASES, key, lease)
  return { 'settled', tenure.now }
`);

export function settleIntent(
  database: Database,
  policy: LeasePolicy,
  request: SettleIntent,
): Promise<IntentSettled> {
  const { key, fence, session, effect } = request;
  return onKnownServer(database, policy, async () => {
    const values = [key, fence, session, effect, database.seen];
    const reply = await database.run<TermReply>(SETTLE, values);
    if (kindOf(reply) === 'settled') return { kind: 'settled', wasOpen: true };
    const refused = refusedView(reply);
    if (refused === undefined) return undefined;
    const decision = decideSettleIntent(refused.view, request, refused.now);
    assert(decision.kind !== 'apply', 'K-6: an intent that may be settled was not');
    return decision.kind === 'replay'
      ? { kind: 'settled', wasOpen: false }
      : { kind: 'refused', ...decision.refusal };
  });
}
