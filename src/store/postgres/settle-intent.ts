import { decideSettleIntent } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { IntentSettled, SettleIntent } from '../../lease/port.ts';
import { type Database, statement } from './database.ts';
import { haltIfAhead } from './halt.ts';
import { loadTerm } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';
import { chainIsWhole, liveChain } from './predicates.ts';

const SETTLE = statement(`
  with ${liveChain('$3')}
  update hf.lease l
     set rev     = l.rev + 1,
         intents = coalesce((select jsonb_agg(i.value order by i.ordinality) from jsonb_array_elements(l.intents) with ordinality i where i.value ->> 'effect' <> $4), '[]')
   where l.key = $1
     and l.fence = $2 -- guard: fence
     and l.session_id is not distinct from $3 -- guard: session
     and coalesce(l.ended_at is null, false) -- guard: ended
     and coalesce(l.drain_deadline_at > hf_now(), true) -- guard: drain-deadline
     and coalesce(l.hard_deadline_at > hf_now(), true) -- guard: hard-deadline
     and l.intents @> jsonb_build_array(jsonb_build_object('effect', $4::text)) -- guard: intent-open
     and ${chainIsWhole('$3')} -- guard: alive
  returning l.rev`);

export async function settleIntent(
  database: Database,
  policy: LeasePolicy,
  request: SettleIntent,
): Promise<IntentSettled> {
  const settled = await database.rows(SETTLE, [
    request.key,
    request.fence,
    request.session,
    request.effect,
  ]);
  if (settled.length > 0) return { kind: 'settled', wasOpen: true };
  const { now, ...view } = await loadTerm(database, request.key);
  const decision = decideSettleIntent(view, request, { policy, now });
  if (decision.kind === 'replay') return { kind: 'settled', wasOpen: false };
  if (decision.kind === 'apply') {
    noteLostRace('settleIntent', request);
    return settleIntent(database, policy, request);
  }
  await haltIfAhead(database, request.fence, decision.refusal);
  return { kind: 'refused', ...decision.refusal };
}
