import { decideRevoke } from '../../lease/decide/term.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import type { Revoke, Revoked } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { loadTermView, refused } from './load-view.ts';
import { appendEnded } from './sweep.ts';
import type { Transaction } from './transaction.ts';

// An operator may end any term that has not ended, also one whose session is overdue.
const REVOKE = `
  update lease
     set rev = rev + 1,
         ended_at = :now,
         exit = 'revoked',
         cause = :reason,
         actor = :actor,
         end_request_id = :request
   where key = :key
     and fence = :fence                                             -- guard: fence
     and ended_at is null                                           -- guard: ended
     and (drain_deadline_at is null or drain_deadline_at > :now)    -- guard: deadline
     and (hard_deadline_at is null or hard_deadline_at > :now)      -- guard: tenure
     and exists (
           select 1
             from session as holder
            where holder.id = lease.session_id
              and not exists (
                    select 1
                      from json_each(holder.path) as step
                      join session as member on member.id = step.value
                     where false
                        or member.ended_at is not null -- guard: parent
                  )
         )
  returning session_id, owner, rev`;

export function revoke(tx: Transaction, request: Revoke): Revoked {
  const { now, policy } = tx;
  const { key, fence, actor, reason } = request;
  const parameters = { key, fence, actor, reason, request: request.request, now };
  const term = tx.get<{ session_id: SessionId; owner: Owner; rev: number }>(REVOKE, parameters);
  if (term !== undefined) {
    const { session_id: session, owner, rev } = term;
    const end = { at: now, exit: 'revoked', cause: reason, actor } as const;
    appendEnded(tx, { key, fence, session, owner, rev }, end);
    tx.notify(session);
    tx.hint(key);
    return { kind: 'revoked', replayed: false };
  }
  const decision = decideRevoke(loadTermView(tx, key), request, { policy, now });
  assert(decision.kind !== 'apply', 'T-6: a term that may be revoked was not');
  return decision.kind === 'replay'
    ? { kind: 'revoked', replayed: true }
    : refused(tx, request, decision.refusal);
}
