// Lua that reads sessions and says what the clock makes of them. A record is JSON; what is absent has
// no field, since Lua has no null. Fences and seqs are digits: cjson would round them after fourteen.

import { FENCE_ORIGIN } from '../../lease/fence.ts';
import { NOTICES_PER_EPOCH } from '../../lease/session.ts';
import { CLOCK } from './clock.ts';

export const RECORDS: string = `
  ${CLOCK}
  local function digits(number)
    return string.format('%.0f', number)
  end

  local function fetch(place, name)
    local text = redis.call('HGET', place, name)
    if text then return cjson.decode(text), text end
  end

  local function save(place, name, record)
    local text = cjson.encode(record)
    redis.call('HSET', place, name, text)
    return text
  end

  -- What the caller may leave out comes behind a mark, since empty is not absent.
  local function given(argument)
    if argument ~= '' then return string.sub(argument, 2) end
  end

  -- Members of a sorted set, all of one score, that begin with this text. In UTF-8 nothing follows 255.
  local function under(place, prefix, limit)
    return redis.call('ZRANGEBYLEX', place, '[' .. prefix, '(' .. prefix .. string.char(255), 'LIMIT', 0, limit or -1)
  end
`;

export const CHAINS: string = `
  ${RECORDS}
  -- Root first; empty when the session is not known. The second answer is the same as text.
  local function chain_of(id)
    local self, text = fetch(SESSIONS, id)
    if not self then return {}, {} end
    if #self.path == 1 then return { self }, { text } end
    local chain, texts = {}, {}
    for _, each in ipairs(self.path) do
      local member, of_member = fetch(SESSIONS, each)
      if member then
        chain[#chain + 1] = member
        texts[#texts + 1] = of_member
      end
    end
    return chain, texts
  end

  -- H-1: its time is that of the worst of its chain.
  local function has_authority(chain, now)
    for _, member in ipairs(chain) do
      if false
        or member.ended                                 -- guard: ended
        or member.expiresAt - member.graceMs <= now     -- guard: lapse
      then return false end
    end
    return #chain > 0
  end

  local function overdue_in(chain, now)
    local ids = {}
    for _, member in ipairs(chain) do
      if member.expiresAt <= now then ids[#ids + 1] = member.id end
    end
    return ids
  end

  local function is_ended(chain)
    for _, member in ipairs(chain) do
      if member.ended then return true end
    end
    return #chain == 0
  end
`;

/** T-4: for scripts that raise the epoch. Whoever lives looks what it still carries. */
export const NOTIFY_ALL = `
  local function notify_all(before, epoch)
    local notices = (epoch - math.floor(math.max(${FENCE_ORIGIN}, before) / 2 ^ 40)) * ${NOTICES_PER_EPOCH}
    for _, id in ipairs(redis.call('ZRANGE', OPEN, 0, -1)) do
      local session = fetch(SESSIONS, id)
      session.notices = session.notices + notices
      save(SESSIONS, id, session)
    end
  end
`;

/** For scripts that write sessions: the indexes go with the record. */
export const WRITE_SESSION = `
  local function keep_session(session)
    redis.call('ZREM', session.extended and LIVING or EXTENDED, session.id)
    redis.call('ZADD', session.extended and EXTENDED or LIVING, session.expiresAt, session.id)
    return save(SESSIONS, session.id, session)
  end
`;
