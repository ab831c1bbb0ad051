// Lua about those who stand in line for a key. LINE has the order, TICKETS the rest.

export const WAITING = `
  -- G-4: kept from the key for losing it too often.
  local function is_damped(key, owner, when)
    local untilAt = when.flapUnitMs > 0 and redis.call('ZSCORE', FLAPS, key .. NUL .. owner)
    return untilAt
      and tonumber(untilAt) - when.now > 2 * when.flapUnitMs     -- guard: damped
  end

  -- The waiter has ended or asks no more. One that was given more time keeps its place, for it may count again.
  local function is_over(ticket, now)
    for _, id in ipairs(ticket.path) do
      if false
        or not redis.call('ZSCORE', OPEN, id)     -- guard: waiter
      then return true end
    end
    return false
      or ticket.expiresAt <= now                  -- guard: asks
  end

  -- Its session and all above it were heard of within their ttl, and it has asked lately.
  local function waits(ticket, now)
    if is_over(ticket, now) then return false end
    for _, id in ipairs(ticket.path) do
      local session = fetch(SESSIONS, id)
      if false
        or session.beatAt + session.ttlMs <= now     -- guard: waiter-expiry
      then return false end
    end
    return true
  end

  local function ticket_of(key, member)
    return fetch(TICKETS, key .. NUL .. string.sub(member, -36))
  end

  -- The living in line before this attempt; all of them when it has no place.
  local function count_ahead(key, attempt, when)
    local own = fetch(TICKETS, key .. NUL .. attempt)
    local last = own and '(' .. own.place or '(' .. key .. string.char(1)
    local count = 0
    for _, member in ipairs(redis.call('ZRANGEBYLEX', LINE, '[' .. key .. NUL, last)) do
      local ticket = ticket_of(key, member)
      if waits(ticket, when.now)
        and not is_damped(key, ticket.owner, when) -- guard: waiter-damped
      then count = count + 1 end
    end
    return count
  end

  local function take_place(key, attempt, waiter)
    local name = key .. NUL .. attempt
    local ticket = fetch(TICKETS, name)
    -- A place is whose it was: another session that shows the same attempt does not get it.
    if not ticket then
      local number = redis.call('HINCRBY', META, 'tickets', 1)
      local place = key .. NUL .. string.format('%016.0f', number) .. NUL .. attempt
      ticket = { place = place, session = waiter.id, owner = waiter.owner, path = waiter.path }
      redis.call('ZADD', LINE, 0, place)
    end
    ticket.expiresAt = waiter.expiresAt
    save(TICKETS, name, ticket)
  end

  local function leave_line(key, attempt)
    local ticket = fetch(TICKETS, key .. NUL .. attempt)
    if not ticket then return false end
    redis.call('HDEL', TICKETS, key .. NUL .. attempt)
    redis.call('ZREM', LINE, ticket.place)
    return true
  end
`;
