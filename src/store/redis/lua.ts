// Each verb is one Lua script. Redis runs one script at a time, so a script acts on exactly what it
// reads, and a refusal is explained from the same snapshot.
//
// A script names the store's keys in capitals and receives exactly those. All of them are in one
// hash slot. Redis does not undo a script that fails, so every script reads first and writes last,
// with nothing in between that can fail.

import { createHash } from 'node:crypto';
import { FENCE_ORIGIN } from '../../lease/fence.ts';
import { NOTICES_PER_EPOCH } from '../../lease/session.ts';

/** The names of the store's keys. README.md describes their contents. */
const KEY_NAMES: readonly string[] = [
  ...['META', 'SESSIONS', 'LEASES', 'BYTES', 'LISTED', 'KNOWN', 'OPEN', 'LIVING', 'EXTENDED'],
  ...['ENDED', 'EXPIRED', 'SETTLING', 'CARRIED', 'FAMILIES', 'DEADLINES', 'RETIRED'],
  ...['LINE', 'TICKETS', 'FLAPS', 'EVENTS'],
];

/** Lua source. `hf_wall()` returns the server's time in whole milliseconds. */
export interface Script {
  readonly text: string;
  /** The last parts of the key names, in the order of KEYS. */
  readonly keys: readonly string[];
}

/** A script with its clock filled in, and its digest on the server. */
export interface FilledScript {
  readonly text: string;
  readonly sha: string;
}

export function script(body: string): Script {
  const used = KEY_NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  const names = `local ${used.join(', ')} = unpack(KEYS)\n`;
  return {
    text: `${used.length > 0 ? names : ''}local NUL = string.char(0)\n${body}`,
    keys: used.map((name) => name.toLowerCase()),
  };
}

/** The body of the function that reads the server's clock. Tests replace it (C-1). */
export const SERVER_TIME_LUA = `
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)`;

export function fill({ text }: Script, nowLua: string): FilledScript {
  const filled = `local function hf_wall()${nowLua}\nend\n${text}`;
  return { text: filled, sha: createHash('sha1').update(filled).digest('hex') };
}

// Store time of Redis. The host's clock may be set back, and a failover brings another clock. This
// makes a time that never goes back.
//
//   C-2  While the server's clock is not behind the mark, it is the time. Otherwise time continues
//        from the mark at the pace of that clock, offset by the difference. Every write stores mark
//        and offset, so they hold across clients, restarts and failovers.

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

// Lua that reads sessions and evaluates their state. A record is JSON. Absent fields are missing,
// because Lua has no null. Fences and seqs are strings of digits, because cjson rounds numbers
// after fourteen digits.

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

  -- Optional arguments start with a mark, so that an empty text differs from an absent one.
  local function given(argument)
    if argument ~= '' then return string.sub(argument, 2) end
  end

  -- Returns the members that start with this text, from a sorted set with equal scores. No byte of
  -- UTF-8 is greater than 254.
  local function under(place, prefix, limit)
    return redis.call('ZRANGEBYLEX', place, '[' .. prefix, '(' .. prefix .. string.char(255), 'LIMIT', 0, limit or -1)
  end
`;

export const CHAINS: string = `
  ${RECORDS}
  -- Returns the chain, root first, as records and as text. Empty when the session is unknown.
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

  -- The chain's worst member decides (H-1).
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

/**
 * For scripts that raise the epoch. The notices make each live holder check the leases that it
 * still carries (T-4).
 */
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

/** For scripts that write sessions. It updates the indexes with the record. */
export const WRITE_SESSION = `
  local function keep_session(session)
    redis.call('ZREM', session.extended and LIVING or EXTENDED, session.id)
    redis.call('ZADD', session.extended and EXTENDED or LIVING, session.expiresAt, session.id)
    return save(SESSIONS, session.id, session)
  end
`;

// Lua that appends events, in the script that makes them true (O-1), and publishes hints that a key
// may be free.

export const APPEND_EVENTS = `
  local function append_event(event)
    local seq = redis.call('HINCRBY', META, 'events', 1)
    redis.call('XADD', EVENTS, digits(seq) .. '-0', 'event', cjson.encode(event))
  end

  local function append_session_event(kind, session, now, ended)
    append_event({
      kind = kind, at = now, session = session.id, owner = session.owner,
      exit = ended and ended.exit, cause = ended and ended.cause, actor = ended and ended.actor,
    })
  end

  local function append_term_event(kind, lease, now, detail)
    local event = detail or {}
    event.kind, event.at = kind, now
    event.key, event.fence, event.rev = lease.key, lease.fence, lease.rev
    event.session, event.owner = lease.session, lease.owner
    append_event(event)
  end
`;

/**
 * Publishes only if a session waits, because most keys have no queue. A hint may be lost, so
 * waiters also poll.
 */
export const HINTS = `
  local function hint(key)
    if under(LINE, key .. NUL, 1)[1] then redis.call('PUBLISH', META .. ':hints', key) end
  end
`;

// Lua for the queue of a key. LINE holds the order, TICKETS the rest.

export const WAITING = `
  -- Flap damping keeps this owner from the key (G-4).
  local function is_damped(key, owner, when)
    local untilAt = when.flapUnitMs > 0 and redis.call('ZSCORE', FLAPS, key .. NUL .. owner)
    return untilAt
      and tonumber(untilAt) - when.now > 2 * when.flapUnitMs     -- guard: damped
  end

  -- True if the waiter's session has ended or the waiter no longer asks. A session that got more
  -- time keeps its ticket, because it may count again.
  local function is_over(ticket, now)
    for _, id in ipairs(ticket.path) do
      if false
        or not redis.call('ZSCORE', OPEN, id)     -- guard: waiter
      then return true end
    end
    return false
      or ticket.expiresAt <= now                  -- guard: asks
  end

  -- True if the waiter asked recently, and its session and all ancestors sent a heartbeat within
  -- their ttl.
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

  -- Counts the waiters before this attempt that count, or all of them if it has no ticket.
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
    -- A ticket belongs to the session that took it. Another session with the same attempt does not
    -- get it.
    if not ticket then
      local number = redis.call('HINCRBY', META, 'tickets', 1)
      local place = key .. NUL .. string.format('%016.0f', number) .. NUL .. attempt
      ticket = { place = place, session = waiter.id, owner = waiter.owner, path = waiter.path }
      redis.call('ZADD', LINE, 0, place)
    end
    ticket.expiresAt = waiter.expiresAt
    save(TICKETS, name, ticket)
  end

  local function leave_queue(key, attempt)
    local ticket = fetch(TICKETS, key .. NUL .. attempt)
    if not ticket then return false end
    redis.call('HDEL', TICKETS, key .. NUL .. attempt)
    redis.call('ZREM', LINE, ticket.place)
    return true
  end
`;

// Lua for terms: how a term ended, and recording its end. It must match src/lease/lease.ts and
// src/lease/decide/term.ts; the contract suite checks that.

export const TERMS = `
  local function own_deadline(lease)
    local drain = lease.drain and lease.drain.deadlineAt
    if drain and lease.hardDeadlineAt then return math.min(drain, lease.hardDeadlineAt) end
    return drain or lease.hardDeadlineAt
  end

  -- The earliest end counts. If several sessions ended at once, the one nearest the root counts.
  local function end_of(lease, holder, now)
    if lease.ended then return lease.ended end
    local first
    local deadline = own_deadline(lease)
    if deadline and deadline <= now then
      local isDrain = lease.drain and lease.drain.deadlineAt == deadline
      first = { at = deadline, exit = 'revoked', cause = (isDrain and 'drain' or 'hard') .. ' deadline passed' }
    end
    -- A lease held by an unknown session is over, not immortal (E-5).
    if #holder == 0 then return first or { at = now, exit = 'expired', cause = 'session unknown' } end
    for _, member in ipairs(holder) do
      local ended = member.ended
      if ended and (not first or ended.at < first.at) then first = ended end
    end
    return first
  end
`;

/**
 * Needs TERMS, TELL and HINTS. Every script that finds the end of a term records it through this
 * function (E-3).
 */
export const END_TERM = `
  local function end_term(lease, ended, told)
    lease.rev = lease.rev + 1
    lease.ended = ended
    -- A yield to a named successor reserves the key for it (V-5).
    if ended.exit == 'yielded' and lease.drain and lease.drain.successor then
      lease.reservation = { owner = lease.drain.successor, endsAt = ended.at + told.reservationMs }
    end
    save(LEASES, lease.key, lease)
    redis.call('ZREM', CARRIED, lease.session .. ':' .. lease.key)
    redis.call('ZREM', DEADLINES, lease.key)
    if ended.exit == 'retired' then redis.call('ZADD', RETIRED, ended.at, lease.key) end
    append_term_event('ended', lease, told.now, { exit = ended.exit, cause = ended.cause, actor = ended.actor })
    hint(lease.key)
  end
`;
