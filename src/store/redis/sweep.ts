// Lua that expires overdue sessions, and the sweep.

import { toFence } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import { type Database, kindOf } from './database.ts';
import {
  APPEND_EVENTS,
  CHAINS,
  END_TERM,
  HINTS,
  script,
  TERMS,
  WAITING,
  WRITE_SESSION,
} from './lua.ts';
import { onKnownServer, SAME_SERVER } from './recover.ts';

// One write ends all leases of the session and its descendants (H-1). A sweep records the rest.
// This publishes hints for the first keys that have waiters.
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
    append_session_event('session-ended', session, ended.at, ended)
    for _, member in ipairs(under(CARRIED, session.id .. ':', 100)) do hint(string.sub(member, 38)) end
  end
`;

/**
 * Needs TELL, HINTS, WRITE_SESSION and MARK_ENDED. Expires the overdue sessions, unless the breaker
 * holds them back (E-8). It must match src/lease/reclaim.ts.
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
    append_event({ kind = 'alarm', at = crowd.now, alarm = 'mass-expiry', cause = cause })
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
    -- The breaker may just have extended a session that was listed as overdue (E-2).
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

/** The policy for RECLAIM: a table that a script builds from its arguments, starting at `first`. */
export function breakerLua(first: number): string {
  const names = ['sessionsMin', 'sharePercent', 'windowMs', 'holdMs'];
  const fields = names.map((name, index) => `${name} = tonumber(ARGV[${first + index}])`);
  return `{ ${fields.join(', ')} }`;
}

export function breakerArguments(policy: LeasePolicy): readonly number[] {
  const { breakerSessionsMin, breakerSharePercent, breakerWindowMs, breakerHoldMs } = policy;
  return [breakerSessionsMin, breakerSharePercent, breakerWindowMs, breakerHoldMs];
}

// The deletions of a sweep: records without references, after the retention.

/**
 * Deletes only retired keys and sessions without references, and never touches the fence counter
 * (L-6).
 */
export const DELETE_OLD = `
  local function delete_retired(before, limit)
    local keys = redis.call('ZRANGEBYSCORE', RETIRED, '-inf', before, 'LIMIT', 0, limit)
    for _, key in ipairs(keys) do
      redis.call('ZREM', RETIRED, key)
      redis.call('ZREM', LISTED, key)
      redis.call('HDEL', LEASES, key)
      redis.call('HDEL', BYTES, key .. NUL .. 'a', key .. NUL .. 'b')
    end
    return #keys
  end

  -- True if the session or a descendant lives, or carries a term without a recorded end.
  local function is_needed(id)
    if under(CARRIED, id .. ':', 1)[1] then return true end
    for _, member in ipairs(under(FAMILIES, id .. ':')) do
      local descendant = string.sub(member, 38)
      if false
        or redis.call('ZSCORE', OPEN, descendant)        -- guard: living
        or under(CARRIED, descendant .. ':', 1)[1]       -- guard: carrying
      then return true end
    end
    return false
  end

  local function delete_sessions(before, limit)
    local deleted = 0
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', ENDED, '-inf', before)) do
      if deleted == limit then break end
      if not is_needed(id) then
        for _, ancestor in ipairs(fetch(SESSIONS, id).path) do
          redis.call('ZREM', FAMILIES, ancestor .. ':' .. id)
        end
        for _, place in ipairs({ ENDED, EXPIRED, SETTLING, KNOWN }) do redis.call('ZREM', place, id) end
        redis.call('HDEL', SESSIONS, id)
        deleted = deleted + 1
      end
    end
    return deleted
  end

  -- Event times ascend with seq, so the oldest events come first.
  local function delete_events(before, limit)
    local deleted = 0
    if limit == 0 then return 0 end
    for _, entry in ipairs(redis.call('XRANGE', EVENTS, '-', '+', 'COUNT', limit)) do
      if cjson.decode(entry[2][2]).at > before then break end
      redis.call('XDEL', EVENTS, entry[1])
      redis.call('HSET', META, 'eventsDeleted', string.sub(entry[1], 1, -3))
      deleted = deleted + 1
    end
    return deleted
  end

  local function delete_old(now, retentionMs, limit)
    local before = now - retentionMs
    local deleted = delete_retired(before, limit)
    deleted = deleted + delete_sessions(before, limit - deleted)
    deleted = deleted + delete_events(before, limit - deleted)
    redis.call('ZREMRANGEBYSCORE', FLAPS, '-inf', now)
    return deleted
  end
`;

// Writes ends that follow from a deadline, a session or an ancestor into the lease's own record. An
// ended session stays listed until nothing is left below it, because it cannot get anything new.
const WRITE_ENDS = `
  local function write_end(key, written, told)
    local lease = fetch(LEASES, key)
    local ended = end_of(lease, (chain_of(lease.session)), told.now)
    end_term(lease, ended, told)
    written[#written + 1] = { key, lease.fence }
  end

  local function write_ends(limit, told)
    local written = {}
    for _, key in ipairs(redis.call('ZRANGEBYSCORE', DEADLINES, '-inf', told.now, 'LIMIT', 0, limit)) do
      write_end(key, written, told)
    end
    for _, id in ipairs(redis.call('ZRANGE', SETTLING, 0, -1)) do
      local family = { id }
      for _, member in ipairs(under(FAMILIES, id .. ':')) do family[#family + 1] = string.sub(member, 38) end
      for _, each in ipairs(family) do
        for _, member in ipairs(under(CARRIED, each .. ':', limit - #written)) do
          write_end(string.sub(member, 38), written, told)
        end
        if #written == limit then return written end
      end
      redis.call('ZREM', SETTLING, id)
    end
    return written
  end

  -- Lists the sessions that are overdue for longest, extended or not.
  local function list_overdue(now, limit)
    local found = {}
    for _, place in ipairs({ LIVING, EXTENDED }) do
      local ids = redis.call('ZRANGEBYSCORE', place, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit + 1)
      for at = 1, #ids, 2 do found[#found + 1] = { id = ids[at], since = tonumber(ids[at + 1]) } end
    end
    table.sort(found, function(a, b)
      if a.since ~= b.since then return a.since < b.since end
      return a.id < b.id
    end)
    local ids = {}
    for at = 1, math.min(limit, #found) do ids[at] = found[at].id end
    return ids, #found > limit
  end

  -- Waiters that no longer count lose their ticket (A-7).
  local function clear_queue(now)
    for _, member in ipairs(redis.call('ZRANGE', LINE, 0, -1)) do
      local key, attempt = string.sub(member, 1, -55), string.sub(member, -36)
      if is_over(ticket_of(key, member), now) then leave_queue(key, attempt) end
    end
  end
`;

const SWEEP = script(`
  ${CHAINS}
  ${APPEND_EVENTS}
  ${HINTS}
  ${WRITE_SESSION}
  ${MARK_ENDED}
  ${RECLAIM}
  ${SAME_SERVER}
  ${TERMS}
  ${END_TERM}
  ${WAITING}
  ${WRITE_ENDS}
  ${DELETE_OLD}
  local limit, seen = tonumber(ARGV[1]), ARGV[2]
  if not is_same_server(seen) then return { 'moved' } end
  local now = tick()
  local overdue, isMore = list_overdue(now, limit)
  local expired, paused = reclaim(overdue, now, ${breakerLua(5)})
  local written = write_ends(limit, { now = now, reservationMs = tonumber(ARGV[3]) })
  clear_queue(now)
  local deleted = delete_old(now, tonumber(ARGV[4]), limit)
  return { 'swept', expired, written, deleted, paused, (isMore or #written >= limit) and 1 or 0 }
`);

type SweepReply = readonly [
  kind: Buffer,
  expired: Buffer[],
  written: readonly (readonly [Buffer, Buffer])[],
  deleted: number,
  paused: number,
  isMore: number,
];

export function sweep(database: Database, policy: LeasePolicy, request: Sweep): Promise<Swept> {
  return onKnownServer(database, policy, async () => {
    const reply = await database.run<SweepReply>(SWEEP, [
      request.limit,
      database.seen,
      policy.reservationMs,
      policy.retentionMs,
      ...breakerArguments(policy),
    ]);
    if (kindOf(reply) === 'moved') return undefined;
    const [, expired, written, deleted, paused, isMore] = reply;
    return {
      expired: expired.map((id) => id.toString() as SessionId),
      ended: written.map(([key, fence]) => ({
        key: key.toString() as LeaseKey,
        fence: toFence(Number(fence.toString())),
      })),
      deleted,
      paused,
      more: isMore === 1,
    };
  });
}
