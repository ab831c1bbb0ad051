// The reads that explain a refusal, in the transaction that refused. No decision looks at the bytes
// of a checkpoint, so they stay on the disk.

import type { TermView } from '../../lease/decide/term.ts';
import type { Fence } from '../../lease/fence.ts';
import { dampedForMs } from '../../lease/flap.ts';
import type { LeaseRecord } from '../../lease/lease.ts';
import type { AttemptId, LeaseKey, SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Refusal } from '../../lease/refusal.ts';
import type { SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { StoreCorrupt } from '../../support/fault.ts';
import { type LeaseRow, type SessionRow, toLease, toSession } from '../lease-rows.ts';
import type { ReadTransaction, Transaction } from './transaction.ts';

/** All columns of LeaseRow but the bytes of its checkpoints, which are read as empty. */
export const LEASE_HEAD = `
  key, fence, session_id, owner, attempt_id, rev, granted_at, hard_deadline_at,
  drain_request_id, drain_by, drain_reason, drain_requested_at, drain_deadline_at, drain_successor,
  ended_at, exit, cause, actor, end_request_id,
  prev_exit, prev_owner, prev_fence, prev_ended_at, prev_cause, prev_actor,
  checkpoint_seq, x'' as checkpoint_bytes, checkpoint_digest, checkpoint_fence, checkpoint_at, checkpoint_type,
  before_seq, x'' as before_bytes, before_digest, before_fence, before_at, before_type,
  losses_since_checkpoint, intents, reserved_for, reserved_until`;

// Root first, which is the order of the path.
const LOAD_CHAIN = `
  select member.id, member.owner, member.path, member.ttl_ms, member.grace_ms, member.metadata,
         member.opened_at, member.beat_at, member.expires_at, member.extended, member.notices,
         member.ended_at, member.exit, member.cause, member.actor
    from session as self
    join json_each(self.path) as step
    join session as member on member.id = step.value
   where self.id = :id
   order by step.key`;

const LOAD_LEASE = `
  select ${LEASE_HEAD}
    from lease
   where key = :key`;

const LOAD_LEASE_WITH_BYTES = `
  select *
    from lease
   where key = :key`;

const LOAD_META = 'select fence, halted from meta where id = 1';

// Places that count before this attempt's own; all of them when it has none.
const COUNT_AHEAD = `
  select count(*) as count
    from ticket
    join session as waiter on waiter.id = ticket.session_id
   where ticket.key = :key
     and ticket.id < coalesce(
           (select id from ticket where key = :key and attempt_id = :attempt),
           9007199254740991)
     and ticket.expires_at > :now
     and not exists (select 1 from flap where key = :key and owner = waiter.owner and until > :dampedPast)
     and not exists (
           select 1
             from json_each(waiter.path) as step
             join session as member on member.id = step.value
            where member.ended_at is not null
               or member.beat_at + member.ttl_ms <= :now)`;

/** Root first; empty when the session is not known. */
export function loadChain(tx: ReadTransaction, id: SessionId | undefined): SessionChain {
  return id === undefined ? [] : tx.all<SessionRow>(LOAD_CHAIN, { id }).map(toSession);
}

export function loadLease(tx: ReadTransaction, key: LeaseKey): LeaseRecord | undefined {
  const row = tx.get<LeaseRow>(LOAD_LEASE, { key });
  return row === undefined ? undefined : toLease(row);
}

export function loadLeaseWithBytes(tx: ReadTransaction, key: LeaseKey): LeaseRecord | undefined {
  const row = tx.get<LeaseRow>(LOAD_LEASE_WITH_BYTES, { key });
  return row === undefined ? undefined : toLease(row);
}

export function loadTermView(tx: ReadTransaction, key: LeaseKey): TermView {
  const lease = loadLease(tx, key);
  return { lease, holder: loadChain(tx, lease?.session), lastIssued: loadMeta(tx).fence };
}

export function loadMeta(tx: ReadTransaction): {
  readonly fence: number;
  readonly halted: number | null;
} {
  const row = tx.get<{ fence: number; halted: number | null }>(LOAD_META);
  if (row === undefined) throw new StoreCorrupt('The row of table "meta" is missing.');
  return row;
}

/** How many stand before this attempt; those kept out by a penalty do not count (G-4). */
export function countAhead(tx: Transaction, key: LeaseKey, attempt: AttemptId): number {
  const parameters = { key, attempt, now: tx.now, dampedPast: dampedPast(tx.policy, tx.now) };
  return tx.get<{ count: number }>(COUNT_AHEAD, parameters)?.count ?? 0;
}

export function countWaiting(tx: ReadTransaction, key: LeaseKey): number {
  const everyone = { key, attempt: null, now: tx.now, dampedPast: Number.MAX_SAFE_INTEGER };
  return tx.get<{ count: number }>(COUNT_AHEAD, everyone)?.count ?? 0;
}

/** Penalties that run longer than this keep their owner out. From the rule itself, so they agree. */
export function dampedPast(policy: LeasePolicy, now: Instant): number {
  return policy.flapUnitMs === 0 ? Number.MAX_SAFE_INTEGER : now - dampedForMs(now, policy, now);
}

/** The answer to a refused write; a fence nobody issued also halts grants (T-4). */
export function refused<Why extends Refusal>(
  tx: Transaction,
  request: { readonly fence: Fence },
  refusal: Why,
): { readonly kind: 'refused' } & Why {
  if (refusal.why === 'fence-ahead') tx.haltFor(request.fence);
  return { kind: 'refused', ...refusal };
}
