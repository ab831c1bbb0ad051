import type { Owner, SessionId } from '../../lease/names.ts';
import { decideReclaim } from '../../lease/reclaim.ts';
import { announceEnd } from './end-session.ts';
import type { Transaction } from './transaction.ts';

const COUNT_FRESH = `
  select count(*) as sessions
    from session
   where ended_at is null
     and expires_at <= :now
     and extended = 0`;

const COUNT_LIVE = `
  select count(*) as sessions
    from session indexed by session_expiry
   where ended_at is null`;

const COUNT_EXPIRED = `
  select count(*) as sessions
    from session
   where ended_at > :windowStart
     and exit = 'expired'`;

const HOLD = `
  update session
     set expires_at = :until,
         extended = 1
   where ended_at is null
     and expires_at <= :now
     and extended = 0 -- guard: extended
`;

// E-2: compare and set. That it was overdue when it was listed is no evidence.
const EXPIRE = `
  update session
     set ended_at = :now,
         exit = 'expired'
   where id = :id and ended_at is null
     and expires_at <= :now -- guard: expiry
  returning owner`;

/** Expires those of the sessions that are overdue, unless the breaker holds them back (E-8). */
export function reclaim(
  tx: Transaction,
  candidates: readonly SessionId[],
): { readonly expired: readonly SessionId[]; readonly paused: number } {
  const paused = holdBack(tx);
  const expired = candidates.filter((id) => {
    const row = tx.get<{ owner: Owner }>(EXPIRE, { id, now: tx.now });
    if (row === undefined) return false;
    announceEnd(tx, { id, owner: row.owner }, { at: tx.now, exit: 'expired' });
    return true;
  });
  return { expired, paused };
}

/** How many sessions were given more time. */
function holdBack(tx: Transaction): number {
  const { now, policy } = tx;
  const count = (sql: string): number =>
    tx.get<{ sessions: number }>(sql, { now, windowStart: now - policy.breakerWindowMs })
      ?.sessions ?? 0;
  const overdueFresh = count(COUNT_FRESH);
  // The breaker has nobody to hold back: no need to count all the others.
  if (overdueFresh === 0) return 0;
  const live = count(COUNT_LIVE);
  const census = { live, overdueFresh, expiredInWindow: count(COUNT_EXPIRED) };
  const decision = decideReclaim(census, policy, now);
  if (decision.kind === 'expire') return 0;
  tx.run(HOLD, { now, until: decision.until });
  const cause = `${overdueFresh} of ${live} sessions`;
  tx.append({ kind: 'alarm', at: now, alarm: 'mass-expiry', cause });
  return overdueFresh;
}
