// Store time of Redis: the clock of the server's host, which people set back and which is another one
// after a failover, made into one that only goes on.
//
//   C-2  While the server's clock is not behind the mark, it is the time. Else time goes on from the
//        mark at the pace of that clock, by as much as it was found behind. Mark and offset are
//        stored with every write, so they hold over clients, restarts and failovers.

export const CLOCK = `
  local function read_clock()
    local wall = hf_wall()
    local stored = redis.call('HMGET', META, 'clock', 'behind')
    local mark, behind = tonumber(stored[1] or 0), tonumber(stored[2] or 0)
    if wall >= mark then return wall, 0, mark, behind end
    local now = math.max(mark, wall + behind)
    return now, now - wall, mark, behind
  end

  -- For scripts that change nothing.
  local function peek()
    return (read_clock())
  end

  local function tick()
    local now, behind, mark, stored = read_clock()
    if now > mark or behind ~= stored then
      redis.call('HSET', META, 'clock', now, 'behind', behind)
    end
    return now
  end
`;
