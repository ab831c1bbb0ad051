// The Lua of acquire: who may enter, and the grant. Looks at everything first, then writes.

import { SAME_SERVER } from './adopt-server.ts';
import { HINTS, TELL } from './events.ts';
import { WAITING } from './line.ts';
import { breakerLua, MARK_ENDED, RECLAIM } from './reclaim.ts';
import { type Script, script } from './script.ts';
import { CHAINS, WRITE_SESSION } from './sessions.ts';
import { END_TERM, TERMS } from './terms.ts';

/** V-5: for whom a yield keeps the key, whether or not the end is in the record yet. */
const RESERVATION = `
  local function reservation_after(lease, ended, reservationMs)
    if lease.ended then return lease.reservation end
    local successor = ended.exit == 'yielded' and lease.drain and lease.drain.successor
    if successor then return { owner = successor, endsAt = ended.at + reservationMs } end
  end
`;

/** G-4: the owner that lost the term by expiry is charged one unit. Says what src/lease/flap.ts says. */
const CHARGE = `
  local function charge(key, owner, when)
    local unit = when.flapUnitMs
    if unit == 0 then return end
    local name = key .. NUL .. owner
    local before = tonumber(redis.call('ZSCORE', FLAPS, name) or when.now)
    local untilAt = math.min(math.max(before, when.now) + unit, when.now + 4 * unit)
    redis.call('ZADD', FLAPS, untilAt, name)
  end
`;

/** The record after a grant: everything the successor learns is captured in this one step. */
const GRANT = `
  local function grant(before, asked, when)
    local lease = {
      key = asked.key, session = asked.owner.id, owner = asked.owner.owner, attempt = asked.attempt,
      rev = (before and before.rev or 0) + 1, grantedAt = when.now, losses = 0,
      hardDeadlineAt = asked.tenureMsMax and when.now + asked.tenureMsMax,
      predecessor = { exit = 'none' },
    }
    if before then
      local ended = before.ended
      lease.predecessor = {
        exit = ended.exit, owner = before.owner, fence = before.fence, endedAt = ended.at,
        cause = ended.cause, actor = ended.actor,
      }
      lease.checkpoint, lease.before, lease.intents = before.checkpoint, before.before, before.intents
      lease.losses = before.losses + (ended.exit == 'expired' and 1 or 0)
      if ended.exit == 'expired' then charge(asked.key, before.owner, when) end
      redis.call('ZREM', RETIRED, asked.key)
    end
    -- K-5: the checkpoint that broke its readers is gone.
    if asked.goesBack and lease.before then
      redis.call('HDEL', BYTES, asked.key .. NUL .. lease.checkpoint.slot)
      lease.checkpoint, lease.before, lease.losses = lease.before, nil, 0
    end
    -- T-2: minted here, where nothing else runs.
    lease.fence = digits(redis.call('HINCRBY', META, 'fence', 1))
    redis.call('ZADD', LISTED, 0, asked.key)
    redis.call('ZADD', CARRIED, 0, lease.session .. ':' .. asked.key)
    if lease.hardDeadlineAt then redis.call('ZADD', DEADLINES, lease.hardDeadlineAt, asked.key) end
    leave_line(asked.key, asked.attempt)
    tell_term('acquired', lease, when.now)
    return lease, save(LEASES, asked.key, lease)
  end
`;

export const ACQUIRE: Script = script(`
  ${CHAINS}
  ${TELL}
  ${HINTS}
  ${WRITE_SESSION}
  ${MARK_ENDED}
  ${RECLAIM}
  ${SAME_SERVER}
  ${TERMS}
  ${END_TERM}
  ${WAITING}
  ${RESERVATION}
  ${CHARGE}
  ${GRANT}
  local key, session, attempt, seen = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
  local mayWait, reopens, goesBack = ARGV[5] == '1', ARGV[6] == '1', ARGV[7] == '1'
  local breaker = ${breakerLua(12)}
  local when = { now = tick(), flapUnitMs = tonumber(ARGV[9]), reservationMs = tonumber(ARGV[10]) }
  local now = when.now

  local own, own_texts = chain_of(session)
  local lease, lease_text = fetch(LEASES, key)
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end
  local halted = redis.call('HGET', META, 'halted')
  local isEntitled = true
    and has_authority(own, now)     -- guard: alive
    and not halted                  -- guard: halted

  -- E-4: who is overdue and in the way is expired here, by what is stored and not by what was seen.
  local overdue = lease and overdue_in(holder, now) or {}
  if isEntitled and #overdue > 0 and not end_of(lease, holder, now) then
    if not is_same_server(seen) then return { 'moved' } end
    reclaim(overdue, now, breaker)
    holder, holder_texts = chain_of(lease.session)
  end

  local ended = lease and end_of(lease, holder, now)
  local reservation = ended and reservation_after(lease, ended, when.reservationMs)
  local isReserved = reservation and reservation.endsAt > now
  local me = own[#own]
  local ahead = count_ahead(key, attempt, when)
  local isSameAttempt = lease and lease.attempt == attempt
  local isOpen = isEntitled
    and (not lease or ended)                                      -- guard: held
    and not isSameAttempt                                         -- guard: attempt
    and (not ended or ended.exit ~= 'retired' or reopens)         -- guard: retired
    and not is_damped(key, me.owner, when)                        -- guard: penalty
    and (not isReserved or reservation.owner == me.owner)         -- guard: reserved
    and (ahead == 0 or isReserved)                                -- guard: queue

  local function answer(kind)
    local bytes = false
    if lease and lease.checkpoint and (kind == 'granted' or kind == 'replay') then
      bytes = redis.call('HGET', BYTES, key .. NUL .. lease.checkpoint.slot)
    end
    local flapUntil = me and redis.call('ZSCORE', FLAPS, key .. NUL .. me.owner) or false
    return { kind, now, own_texts, lease_text or false, bytes, holder_texts, ahead, flapUntil, halted }
  end

  if isOpen then
    if not is_same_server(seen) then return { 'moved' } end
    -- E-3: an end that nobody has written down gets its event now.
    if lease and not lease.ended then end_term(lease, ended, when) end
    local asked = { key = key, attempt = attempt, owner = me, goesBack = goesBack }
    asked.tenureMsMax = tonumber(given(ARGV[8]) or '')
    lease, lease_text = grant(lease, asked, when)
    return answer('granted')
  end
  -- A-3: the same attempt by the same session is answered with the same term.
  if isSameAttempt and not ended and lease.session == session then return answer('replay') end
  -- A-7: where waiting cannot help nobody is let wait.
  local helps = mayWait and isEntitled
    and not (isSameAttempt and ended)                                               -- guard: used
    and (not ended or ended.exit ~= 'retired' or reopens)                           -- guard: for-good
    and ((lease and not ended) or not is_damped(key, me.owner, when))               -- guard: kept-out
  if not helps then return answer('no') end
  local ticketUntil = now + tonumber(ARGV[11])
  take_place(key, attempt, { id = session, owner = me.owner, path = me.path, expiresAt = ticketUntil })
  return answer('queued')
`);
