import { decideBeginIntent } from '../../lease/decide/term.ts';
import type { BeginIntent, IntentBegun } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { IntentRow } from '../lease-rows.ts';
import { loadTermView, refused } from './load-view.ts';
import type { Transaction } from './transaction.ts';

// T-6, K-6: what is about to happen is on the disk before it may.
const BEGIN = `
  update lease
     set rev = rev + 1,
         intents = json_insert(intents, '$[#]', json(:intent))
   where key = :key
     and fence = :fence                                             -- guard: fence
     and session_id = :session                                      -- guard: session
     and ended_at is null                                           -- guard: ended
     and (drain_deadline_at is null or drain_deadline_at > :now)    -- guard: deadline
     and (hard_deadline_at is null or hard_deadline_at > :now)      -- guard: tenure
     and json_array_length(intents) < :intentsMax                   -- guard: intents
     and not exists (select 1 from json_each(lease.intents) where value ->> 'effect' = :effect)    -- guard: effect
     and exists (
           select 1
             from session as holder
            where holder.id = lease.session_id
              and not exists (
                    select 1
                      from json_each(holder.path) as step
                      join session as member on member.id = step.value
                     where false
                        or member.ended_at is not null                    -- guard: parent
                        or member.expires_at - member.grace_ms <= :now    -- guard: lapse
                  )
         )`;

export function beginIntent(tx: Transaction, request: BeginIntent): IntentBegun {
  const { now, policy } = tx;
  const { key, fence, session, effect, note } = request;
  // Made here and not by SQLite, to which every number bound by node:sqlite is a real.
  const intent: IntentRow = {
    effect,
    fence,
    begun_at: now,
    ...(note === undefined ? {} : { note }),
  };
  const begun = tx.run(BEGIN, {
    key,
    fence,
    session,
    effect,
    intent: JSON.stringify(intent),
    intentsMax: policy.intentsMax,
    now,
  });
  if (begun === 1) return { kind: 'begun', replayed: false };

  const decision = decideBeginIntent(loadTermView(tx, key), request, { policy, now });
  assert(decision.kind !== 'apply', 'K-6: an intent that may begin did not');
  return decision.kind === 'replay'
    ? { kind: 'begun', replayed: true }
    : refused(tx, request, decision.refusal);
}
