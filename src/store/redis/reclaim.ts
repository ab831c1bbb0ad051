import type { LeasePolicy } from '../../lease/policy.ts';

// H-1: one write ends every lease of the session and of its descendants; a sweep writes the rest
// down. The first keys that others wait for are hinted at.
export const MARK_ENDED = `
  local function mark_ended(session, ended)
    session.ended = ended
    redis.call('ZREM', LIVING, session.id)
    redis.call('ZREM', EXTENDED, session.id)
    redis.call('ZREM', OPEN, session.id)
    redis.call('ZADD', ENDED, ended.at, session.id)
    if under(CARRIED, session.id .. ':', 1)[1] or under(FAMILIES, session.id .. ':', 1)[1] then
      redis.call('ZADD', SETTLING, ended.at, session.id)
    end
    if ended.exit == 'expired' then redis.call('ZADD', EXPIRED, ended.at, session.id) end
    save(SESSIONS, session.id, session)
    tell_session('session-ended', session, ended.at, ended)
    for _, member in ipairs(under(CARRIED, session.id .. ':', 100)) do hint(string.sub(member, 38)) end
  end
`;

/**
 * Needs TELL, HINTS, WRITE_SESSION and MARK_ENDED. Expires those of the sessions that are overdue,
 * unless the breaker holds them back (E-8). Says what src/lease/reclaim.ts says.
 */
export const RECLAIM = `
  local function hold_back(crowd, policy)
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', LIVING, '-inf', crowd.now)) do
      local session = fetch(SESSIONS, id)
      session.expiresAt = crowd.now + policy.holdMs
      session.extended = true
      keep_session(session)
    end
    local cause = digits(crowd.fresh) .. ' of ' .. digits(crowd.live) .. ' sessions'
    tell({ kind = 'alarm', at = crowd.now, alarm = 'mass-expiry', cause = cause })
  end

  local function reclaim(ids, now, policy)
    local crowd = { now = now }
    crowd.live = redis.call('ZCARD', LIVING) + redis.call('ZCARD', EXTENDED)
    crowd.fresh = redis.call('ZCOUNT', LIVING, '-inf', now)
    local gone = redis.call('ZCOUNT', EXPIRED, '(' .. digits(now - policy.windowMs), '+inf')
    local isMass = true
      and crowd.fresh > 0                                                                            -- guard: fresh
      and crowd.live + gone >= policy.sessionsMin                                                    -- guard: crowd
      and (crowd.fresh + gone) * 100 > policy.sharePercent * (crowd.live + gone)                     -- guard: share
    if isMass then hold_back(crowd, policy) end
    -- E-2: who was listed as overdue may have been held back just now.
    local expired = {}
    for _, id in ipairs(ids) do
      local session = fetch(SESSIONS, id)
      if true
        and session.expiresAt <= now -- guard: expiry
      then
        mark_ended(session, { at = now, exit = 'expired' })
        expired[#expired + 1] = id
      end
    end
    return expired, isMass and crowd.fresh or 0
  end
`;

/** The policy as RECLAIM takes it, in a table that a script makes of its arguments from `first` on. */
export function breakerLua(first: number): string {
  const names = ['sessionsMin', 'sharePercent', 'windowMs', 'holdMs'];
  const fields = names.map((name, index) => `${name} = tonumber(ARGV[${first + index}])`);
  return `{ ${fields.join(', ')} }`;
}

export function breakerArguments(policy: LeasePolicy): readonly number[] {
  const { breakerSessionsMin, breakerSharePercent, breakerWindowMs, breakerHoldMs } = policy;
  return [breakerSessionsMin, breakerSharePercent, breakerWindowMs, breakerHoldMs];
}
