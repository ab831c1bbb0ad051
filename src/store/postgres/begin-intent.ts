import { decideBeginIntent } from '../../lease/decide/term.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { BeginIntent, IntentBegun } from '../../lease/port.ts';
import { type Database, statement } from './database.ts';
import { haltIfAhead } from './halt.ts';
import { loadTerm } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';
import { chainIsWhole, liveChain } from './predicates.ts';

const BEGIN = statement(`
  with ${liveChain('$3')}
  update hf.lease l
     set rev     = l.rev + 1,
         intents = l.intents || jsonb_build_array(jsonb_build_object('effect', $4::text, 'fence', $2::bigint, 'begun_at', hf_now(), 'note', $5::text))
   where l.key = $1
     and l.fence = $2 -- guard: fence
     and l.session_id is not distinct from $3 -- guard: session
     and coalesce(l.ended_at is null, false) -- guard: ended
     and coalesce(l.drain_deadline_at > hf_now(), true) -- guard: drain-deadline
     and coalesce(l.hard_deadline_at > hf_now(), true) -- guard: hard-deadline
     and not l.intents @> jsonb_build_array(jsonb_build_object('effect', $4::text)) -- guard: intent-open
     and jsonb_array_length(l.intents) < $6 -- guard: intents-full
     and ${chainIsWhole('$3')} -- guard: alive
  returning l.rev`);

export async function beginIntent(
  database: Database,
  policy: LeasePolicy,
  request: BeginIntent,
): Promise<IntentBegun> {
  const begun = await database.rows(BEGIN, [
    request.key,
    request.fence,
    request.session,
    request.effect,
    request.note ?? null,
    policy.intentsMax,
  ]);
  if (begun.length > 0) return { kind: 'begun', replayed: false };
  const { now, ...view } = await loadTerm(database, request.key);
  const decision = decideBeginIntent(view, request, { policy, now });
  if (decision.kind === 'replay') return { kind: 'begun', replayed: true };
  if (decision.kind === 'apply') {
    noteLostRace('beginIntent', request);
    return beginIntent(database, policy, request);
  }
  await haltIfAhead(database, request.fence, decision.refusal);
  return { kind: 'refused', ...decision.refusal };
}
