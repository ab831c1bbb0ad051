import { decideDrain } from '../../lease/decide/term.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import type { DrainAnswer, RequestDrain } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { loadTermView, refused } from './load-view.ts';
import type { Transaction } from './transaction.ts';

// V-1: never before the holder's session would expire, which is what it has been promised.
const DRAIN = `
  update lease
     set rev = rev + 1,
         drain_request_id = :request,
         drain_by = :by,
         drain_reason = :reason,
         drain_requested_at = :now,
         drain_deadline_at = max(:now + :deadlineMs, (select expires_at from session where id = lease.session_id)),
         drain_successor = :successor
   where key = :key
     and fence = :fence                                           -- guard: fence
     and ended_at is null                                         -- guard: ended
     and drain_request_id is null                                 -- guard: draining
     and (hard_deadline_at is null or hard_deadline_at > :now)    -- guard: tenure
     and exists (
           select 1
             from session as holder
            where holder.id = lease.session_id
              and not exists (
                    select 1
                      from json_each(holder.path) as step
                      join session as member on member.id = step.value
                     where false
                        or member.ended_at is not null    -- guard: parent
                        or member.expires_at <= :now      -- guard: expiry
                  )
         )
  returning session_id, owner, rev, drain_deadline_at`;

interface DrainingRow {
  readonly session_id: SessionId;
  readonly owner: Owner;
  readonly rev: number;
  readonly drain_deadline_at: Instant;
}

export function requestDrain(tx: Transaction, request: RequestDrain): DrainAnswer {
  const { now } = tx;
  const row = tx.get<DrainingRow>(DRAIN, {
    key: request.key,
    fence: request.fence,
    request: request.request,
    by: request.by,
    reason: request.reason,
    deadlineMs: request.deadlineMs,
    successor: request.successor ?? null,
    now,
  });
  if (row !== undefined) {
    announceDrain(tx, request, row);
    return { kind: 'draining', deadlineInMs: row.drain_deadline_at - now, replayed: false };
  }
  const decision = decideDrain(loadTermView(tx, request.key), request, tx);
  assert(decision.kind !== 'apply', 'V-1: a term that may be drained was not');
  if (decision.kind === 'refuse') return refused(tx, request, decision.refusal);
  return { kind: 'draining', deadlineInMs: decision.drain.deadlineAt - now, replayed: true };
}

function announceDrain(tx: Transaction, request: RequestDrain, row: DrainingRow): void {
  tx.notify(row.session_id);
  tx.append({
    kind: 'drain-requested',
    at: tx.now,
    key: request.key,
    fence: request.fence,
    rev: row.rev,
    session: row.session_id,
    owner: row.owner,
    actor: request.by,
    cause: request.reason,
    deadlineAt: row.drain_deadline_at,
  });
}
