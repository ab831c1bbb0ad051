// The deletions of a sweep: what nobody can refer to any more, after the retention has passed.

/** L-6: only retired keys, and sessions nothing refers to; the counter of fences is never touched. */
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

  -- It, or one below it, lives, or carries a term whose end is not written down.
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

  -- Time only rises with seq, so the oldest are in front.
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
