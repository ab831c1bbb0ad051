import { decideBeginIntent } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { BeginIntent, IntentBegun } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import { type Database, optional } from './database.ts';
import { TELL } from './events.ts';
import { kindOf, refusedView, type TermReply } from './load-view.ts';
import { HALT } from './recover.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';
import { REFUSE_TERM, TERMS } from './terms.ts';

// K-6: what is about to happen is stored before it may.
const BEGIN = script(`
  ${CHAINS}
  ${TELL}
  ${SAME_SERVER}
  ${HALT}
  ${TERMS}
  ${REFUSE_TERM}
  local key, effect = ARGV[1], ARGV[4]
  local tenure = { fence = ARGV[2], session = ARGV[3], seen = ARGV[7], now = tick() }
  local lease, lease_text = fetch(LEASES, key)
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end
  local intents = lease and lease.intents or {}
  local isBegun = false
  for _, intent in ipairs(intents) do isBegun = isBegun or intent.effect == effect end
  local isAllowed = is_held(lease, holder, tenure)
    and not isBegun                            -- guard: effect
    and #intents < tonumber(ARGV[6])           -- guard: intents
  if not isAllowed then return refuse_term(lease_text, holder_texts, tenure) end
  intents[#intents + 1] = { effect = effect, fence = tenure.fence, begunAt = tenure.now, note = given(ARGV[5]) }
  lease.rev = lease.rev + 1
  lease.intents = intents
  save(LEASES, key, lease)
  return { 'begun', tenure.now }
`);

export function beginIntent(
  database: Database,
  policy: LeasePolicy,
  request: BeginIntent,
): Promise<IntentBegun> {
  const { key, fence, session, effect, note } = request;
  return onKnownServer(database, policy, async () => {
    const values = [key, fence, session, effect, optional(note), policy.intentsMax, database.seen];
    const reply = await database.run<TermReply>(BEGIN, values);
    if (kindOf(reply) === 'begun') return { kind: 'begun', replayed: false };
    const refused = refusedView(reply);
    if (refused === undefined) return undefined;
    const { view, now } = refused;
    const decision = decideBeginIntent(view, request, { policy, now });
    assert(decision.kind !== 'apply', 'K-6: an intent that may begin did not');
    return decision.kind === 'replay'
      ? { kind: 'begun', replayed: true }
      : { kind: 'refused', ...decision.refusal };
  });
}
