// Lua about terms: how one ended, whether it is held, and writing its end down. Says the same as
// src/lease/lease.ts and src/lease/decide/term.ts, and the contract suite holds them to it.

export const TERMS = `
  local function own_deadline(lease)
    local drain = lease.drain and lease.drain.deadlineAt
    if drain and lease.hardDeadlineAt then return math.min(drain, lease.hardDeadlineAt) end
    return drain or lease.hardDeadlineAt
  end

  -- Of several ends the earliest counts, and of sessions that ended at once the one nearest the root.
  local function end_of(lease, holder, now)
    if lease.ended then return lease.ended end
    local first
    local deadline = own_deadline(lease)
    if deadline and deadline <= now then
      local isDrain = lease.drain and lease.drain.deadlineAt == deadline
      first = { at = deadline, exit = 'revoked', cause = (isDrain and 'drain' or 'hard') .. ' deadline passed' }
    end
    -- E-5: held by a session that nobody knows is over, not immortal.
    if #holder == 0 then return first or { at = now, exit = 'expired', cause = 'session unknown' } end
    for _, member in ipairs(holder) do
      local ended = member.ended
      if ended and (not first or ended.at < first.at) then first = ended end
    end
    return first
  end

  -- T-6: what every write of a holder needs, each on its own.
  local function is_held(lease, holder, tenure)
    local deadline = lease and own_deadline(lease)
    return lease
      and lease.fence == tenure.fence                    -- guard: fence
      and lease.session == tenure.session                -- guard: session
      and not lease.ended                                -- guard: over
      and (not deadline or deadline > tenure.now)        -- guard: deadline
      and has_authority(holder, tenure.now)              -- guard: alive
  end
`;

/** Needs TERMS, TELL and HINTS. The end of a term has one writer, whoever finds it out (E-3). */
export const END_TERM = `
  local function end_term(lease, ended, told)
    lease.rev = lease.rev + 1
    lease.ended = ended
    -- V-5: a yield to a named successor keeps the key for it.
    if ended.exit == 'yielded' and lease.drain and lease.drain.successor then
      lease.reservation = { owner = lease.drain.successor, endsAt = ended.at + told.reservationMs }
    end
    save(LEASES, lease.key, lease)
    redis.call('ZREM', CARRIED, lease.session .. ':' .. lease.key)
    redis.call('ZREM', DEADLINES, lease.key)
    if ended.exit == 'retired' then redis.call('ZADD', RETIRED, ended.at, lease.key) end
    tell_term('ended', lease, told.now, { exit = ended.exit, cause = ended.cause, actor = ended.actor })
    hint(lease.key)
  end
`;

/** Needs TELL, SAME_SERVER and HALT. What verbs of a term answer when their guards said no. */
export const REFUSE_TERM = `
  local function refuse_term(lease_text, holder_texts, shown)
    local issued = redis.call('HGET', META, 'fence') or '0'
    if tonumber(shown.fence) > tonumber(issued) then
      -- After a failover it is the server that forgot; then the epoch rises, and it is no alarm.
      if not is_same_server(shown.seen) then return { 'moved' } end
      halt(shown.fence, shown.now)
    end
    return { 'no', shown.now, issued, lease_text or false, holder_texts }
  end
`;
