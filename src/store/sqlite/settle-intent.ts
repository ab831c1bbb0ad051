import { decideSettleIntent } from '../../lease/decide/term.ts';
import type { IntentSettled, SettleIntent } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { loadTermView, refused } from './load-view.ts';
import type { Transaction } from './transaction.ts';

// T-6, K-6
const SETTLE = `
  update lease
     set rev = rev + 1,
         intents = (
           select json_group_array(json(value) order by key)
             from json_each(lease.intents)
            where value ->> 'effect' <> :effect)
   where key = :key
     and fence = :fence                                             -- guard: fence
     and session_id = :session                                      -- guard: session
     and ended_at is null                                           -- guard: ended
     and (drain_deadline_at is null or drain_deadline_at > :now)    -- guard: deadline
     and (hard_deadline_at is null or hard_deadline_at > :now)      -- guard: tenure
     and exists (select 1 from json_each(lease.intents) where value ->> 'effect' = :effect)    -- guard: effect
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

export function settleIntent(tx: Transaction, request: SettleIntent): IntentSettled {
  const { now } = tx;
  const { key, fence, session, effect } = request;
  const settled = tx.run(SETTLE, { key, fence, session, effect, now });
  if (settled === 1) return { kind: 'settled', wasOpen: true };

  const decision = decideSettleIntent(loadTermView(tx, key), request, tx);
  assert(decision.kind !== 'apply', 'K-6: an intent that may be settled was not');
  return decision.kind === 'replay'
    ? { kind: 'settled', wasOpen: false }
    : refused(tx, request, decision.refusal);
}
