import type { Recovered } from '../../lease/port.ts';
import type { Transaction } from './transaction.ts';

// E-6: at most once per heartbeat received, so that repeated outages cannot extend for ever. The
// time it reaches to is that of fairChanceUntil.
const RECOVER = `
  update session
     set expires_at = :now + min(ttl_ms, :recoveryGraceMs),
         extended = 1
   where true
     and ended_at is null                                     -- guard: ended
     and extended = 0                                         -- guard: extended
     and expires_at < :now + min(ttl_ms, :recoveryGraceMs)    -- guard: expiry
`;

export function recover(tx: Transaction): Recovered {
  const { recoveryGraceMs } = tx.policy;
  return { extended: tx.run(RECOVER, { now: tx.now, recoveryGraceMs }) };
}
