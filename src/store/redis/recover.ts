import type { LeasePolicy } from '../../lease/policy.ts';
import type { Recovered } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { script } from './script.ts';
import { CHAINS, WRITE_SESSION } from './sessions.ts';

// E-6: at most once per heartbeat received, so that repeated outages cannot extend for ever. Those
// that were extended are in a set of their own, and not looked at.
export const EXTEND_LIVING = `
  local function extend_living(now, graceMs)
    local count = 0
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', LIVING, '-inf', now + graceMs)) do
      local session = fetch(SESSIONS, id)
      local fairUntil = now + math.min(session.ttlMs, graceMs)
      if true
        and session.expiresAt < fairUntil -- guard: extend
      then
        session.expiresAt = fairUntil
        session.extended = true
        keep_session(session)
        count = count + 1
      end
    end
    return count
  end
`;

const RECOVER = script(`
  ${CHAINS}
  ${WRITE_SESSION}
  ${EXTEND_LIVING}
  return extend_living(tick(), tonumber(ARGV[1]))
`);

export async function recover(database: Database, policy: LeasePolicy): Promise<Recovered> {
  const extended = await database.run<number>(RECOVER, [policy.recoveryGraceMs]);
  return { extended };
}
