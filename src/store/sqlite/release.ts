import { decideRelease } from '../../lease/decide/term.ts';
import type { Owner } from '../../lease/names.ts';
import type { Release, Released } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { loadTermView, refused } from './load-view.ts';
import { appendEnded } from './sweep.ts';
import type { Transaction } from './transaction.ts';

// T-6, L-4. V-5: a yield to a named successor leaves the key to it for a while.
const RELEASE = `
  update lease
     set rev = rev + 1,
         ended_at = :now,
         exit = :exit,
         cause = :cause,
         reserved_for = iif(:exit = 'yielded', drain_successor, null),
         reserved_until = iif(:exit = 'yielded' and drain_successor is not null, :now + :reservationMs, null)
   where key = :key
     and fence = :fence                                             -- guard: fence
     and session_id = :session                                      -- guard: session
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
                        or member.ended_at is not null                    -- guard: parent
                        or member.expires_at - member.grace_ms <= :now    -- guard: lapse
                  )
         )
  returning owner, rev`;

export function release(tx: Transaction, request: Release): Released {
  const { now, policy } = tx;
  const { key, fence, session, exit, cause } = request;
  const { reservationMs } = policy;
  const parameters = { key, fence, session, exit, cause: cause ?? null, reservationMs, now };
  const term = tx.get<{ owner: Owner; rev: number }>(RELEASE, parameters);
  if (term !== undefined) {
    const end = { at: now, exit, ...(cause === undefined ? {} : { cause }) };
    appendEnded(tx, { key, fence, session, ...term }, end);
    tx.hint(key);
    return { kind: 'released', replayed: false };
  }
  const decision = decideRelease(loadTermView(tx, key), request, { policy, now });
  assert(decision.kind !== 'apply', 'L-2: a term that may be released was not');
  return decision.kind === 'replay'
    ? { kind: 'released', replayed: true }
    : refused(tx, request, decision.refusal);
}
