// The reads of hot verbs, in their transaction.

import { dampedForMs } from '../../lease/flap.ts';
import type { SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { StoreCorrupt } from '../../support/fault.ts';
import { type SessionRow, toSession } from '../lease-rows.ts';
import type { ReadTransaction } from './transaction.ts';

// The order of the path is root first.
const LOAD_CHAIN = `
  select member.id, member.owner, member.path, member.ttl_ms, member.grace_ms, member.opened_at,
         member.beat_at, member.expires_at, member.extended, member.notices, member.ended_at,
         member.exit, member.cause, member.actor
    from session as self
    join json_each(self.path) as step
    join session as member on member.id = step.value
   where self.id = :id
   order by step.key`;

const LOAD_META = 'select fence, halted from meta where id = 1';

/** Returns the chain, root first. Empty when the session is unknown. */
export function loadChain(tx: ReadTransaction, id: SessionId | undefined): SessionChain {
  return id === undefined ? [] : tx.all<SessionRow>(LOAD_CHAIN, { id }).map(toSession);
}

export function loadMeta(tx: ReadTransaction): {
  readonly fence: number;
  readonly halted: number | null;
} {
  const row = tx.get<{ fence: number; halted: number | null }>(LOAD_META);
  if (row === undefined) throw new StoreCorrupt('The row of table "meta" is missing.');
  return row;
}

/**
 * A penalty that lasts beyond this time keeps its owner out. It is derived from the decision
 * itself, so both agree.
 */
export function dampedPast(policy: LeasePolicy, now: Instant): number {
  return policy.flapUnitMs === 0 ? Number.MAX_SAFE_INTEGER : now - dampedForMs(now, policy, now);
}
