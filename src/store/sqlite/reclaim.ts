import type { Owner, SessionId } from '../../lease/names.ts';
import { type Census, causeOfHold, decideReclaim } from '../../lease/reclaim.ts';
import { PROJECT_METADATA } from '../../lease/session.ts';
import type { Parameters } from './connection.ts';
import { announceEnd } from './end-session.ts';
import type { Transaction } from './transaction.ts';

// Those of no project are one crowd too, whose name is null.
const SESSION_PROJECT = `metadata ->> '$."${PROJECT_METADATA}"'`;

const COUNT_FRESH = `
  select ${SESSION_PROJECT} as project, count(*) as sessions
    from session
   where ended_at is null
     and expires_at <= :now
     and extended = 0
   group by 1`;

const COUNT_LIVE = `
  select count(*) as sessions
    from session indexed by session_project
   where ended_at is null
     and ${SESSION_PROJECT} is :project`;

const COUNT_EXPIRED = `
  select count(*) as sessions
    from session
   where ended_at > :windowStart
     and exit = 'expired'
     and ${SESSION_PROJECT} is :project`;

const HOLD = `
  update session
     set expires_at = :until,
         extended = 1
   where ended_at is null
     and expires_at <= :now
     and ${SESSION_PROJECT} is :project -- guard: project
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
  const { now } = tx;
  let held = 0;
  // Where it has nobody to hold back, there is no need to count all the others.
  for (const { project, sessions } of tx.all<Fresh>(COUNT_FRESH, { now })) {
    if (holdsBack(tx, project, sessions)) held += sessions;
  }
  return held;
}

interface Fresh {
  readonly project: string | null;
  readonly sessions: number;
}

function holdsBack(tx: Transaction, project: string | null, overdueFresh: number): boolean {
  const { now, policy } = tx;
  const count = (sql: string, values: Parameters): number =>
    tx.get<{ sessions: number }>(sql, { project, ...values })?.sessions ?? 0;
  const live = count(COUNT_LIVE, {});
  const expiredInWindow = count(COUNT_EXPIRED, { windowStart: now - policy.breakerWindowMs });
  const census: Census = { live, overdueFresh, expiredInWindow };
  const decision = decideReclaim(census, policy, now);
  if (decision.kind === 'expire') return false;
  tx.run(HOLD, { project, now, until: decision.until });
  const cause = causeOfHold(project ?? undefined, census);
  tx.append({ kind: 'alarm', at: now, alarm: 'mass-expiry', cause });
  return true;
}
