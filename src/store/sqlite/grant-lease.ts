// The statement that grants a lease. Its predicate is the whole decision; the store reads nothing
// first.

import type { LeaseRecord } from '../../lease/lease.ts';
import type { Acquire } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { type LeaseRow, toLease } from '../lease-rows.ts';
import { dampedPast } from './load-view.ts';
import type { Transaction } from './transaction.ts';

// The fence is the next one of the sequence, which MINT advances after a grant (T-2). The same step
// captures the predecessor. An owner with a live reservation does not wait in the queue.
const GRANT = `
  insert into lease (key, fence, session_id, owner, attempt_id, rev, granted_at, hard_deadline_at,
                     prev_exit, losses_since_checkpoint, intents)
  select :key, meta.fence + 1, own.id, own.owner, :attempt, 1, :now, :now + :tenureMsMax,
         'none', 0, '[]'
    from session as own
    join meta on meta.id = 1
   where own.id = :session
     and meta.halted is null                                                                            -- guard: halted
     and not exists (select 1 from flap where key = :key and owner = own.owner and until > :dampedPast) -- guard: damped
     and not exists (
           select 1
             from json_each(own.path) as step
             join session as member on member.id = step.value
            where false
               or member.ended_at is not null                    -- guard: ended
               or member.expires_at - member.grace_ms <= :now    -- guard: lapse
         )
     and not exists (
           select 1
             from ticket
             join session as waiter on waiter.id = ticket.session_id
            where ticket.key = :key
              and ticket.id < coalesce((select id from ticket where key = :key and attempt_id = :attempt), 9007199254740991) -- guard: place
              and not exists (select 1 from lease where key = :key and reserved_for = own.owner and reserved_until > :now)    -- guard: successor
              and ticket.expires_at > :now                                                                                    -- guard: asks
              and not exists (select 1 from flap where key = :key and owner = waiter.owner and until > :dampedPast)           -- guard: waiter-damped
              and not exists (
                    select 1
                      from json_each(waiter.path) as step
                      join session as member on member.id = step.value
                     where false
                        or member.ended_at is not null                -- guard: waiter
                        or member.beat_at + member.ttl_ms <= :now     -- guard: waiter-expiry
                  )
         )
  on conflict (key) do update
     set fence = excluded.fence,
         session_id = excluded.session_id,
         owner = excluded.owner,
         attempt_id = excluded.attempt_id,
         rev = rev + 1,
         granted_at = excluded.granted_at,
         hard_deadline_at = excluded.hard_deadline_at,
         drain_request_id = null,
         drain_by = null,
         drain_reason = null,
         drain_requested_at = null,
         drain_deadline_at = null,
         drain_successor = null,
         ended_at = null,
         exit = null,
         cause = null,
         actor = null,
         end_request_id = null,
         prev_exit = exit,
         prev_owner = owner,
         prev_fence = fence,
         prev_ended_at = ended_at,
         prev_cause = cause,
         prev_actor = actor,
         losses_since_checkpoint = losses_since_checkpoint + (exit = 'expired'),
         reserved_for = null,
         reserved_until = null
   where true
     and ended_at is not null                                                                      -- guard: held
     and attempt_id <> excluded.attempt_id                                                         -- guard: attempt
     and (exit <> 'retired' or :reopen)                                                            -- guard: retired
     and (reserved_until is null or reserved_until <= :now or reserved_for = excluded.owner)       -- guard: reserved
  returning *`;

const MINT = `
  update meta
     set fence = fence + 1
   where id = 1
  returning fence`;

// Runs in the transaction of the grant. It discards the newest checkpoint and restores the previous
// one (K-5).
const GO_BACK = `
  update lease
     set checkpoint_seq = before_seq,
         checkpoint_bytes = before_bytes,
         checkpoint_digest = before_digest,
         checkpoint_fence = before_fence,
         checkpoint_at = before_at,
         checkpoint_type = before_type,
         before_seq = null,
         before_bytes = null,
         before_digest = null,
         before_fence = null,
         before_at = null,
         before_type = null,
         losses_since_checkpoint = 0
   where key = :key
     and before_seq is not null -- guard: before
  returning *`;

/** Returns the lease if it was granted. Otherwise undefined, for any reason. */
export function grantLease(tx: Transaction, request: Acquire): LeaseRecord | undefined {
  const { now, policy } = tx;
  const { key, session, attempt } = request;
  const row = tx.get<LeaseRow>(GRANT, {
    key,
    session,
    attempt,
    tenureMsMax: request.tenureMsMax ?? null,
    reopen: request.reopen === true ? 1 : 0,
    dampedPast: dampedPast(policy, now),
    now,
  });
  if (row === undefined) return undefined;
  const minted = tx.get<{ fence: number }>(MINT)?.fence;
  assert(minted === row.fence, `T-3: granted fence ${row.fence}, minted ${minted}`);
  const before =
    request.fromCheckpointBefore === true ? tx.get<LeaseRow>(GO_BACK, { key }) : undefined;
  return toLease(before ?? row);
}
