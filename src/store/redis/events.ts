// Lua that tells: events, in the script that makes them true (O-1), and hints that a key may be free.

export const TELL = `
  local function tell(event)
    local seq = redis.call('HINCRBY', META, 'events', 1)
    redis.call('XADD', EVENTS, digits(seq) .. '-0', 'event', cjson.encode(event))
  end

  local function tell_session(kind, session, now, ended)
    tell({
      kind = kind, at = now, session = session.id, owner = session.owner,
      exit = ended and ended.exit, cause = ended and ended.cause, actor = ended and ended.actor,
    })
  end

  local function tell_term(kind, lease, now, detail)
    local event = detail or {}
    event.kind, event.at = kind, now
    event.key, event.fence, event.rev = lease.key, lease.fence, lease.rev
    event.session, event.owner = lease.session, lease.owner
    tell(event)
  end
`;

/** Rings only when somebody waits: most keys have no line. A hint may be lost; waiters poll as well. */
export const HINTS = `
  local function hint(key)
    if under(LINE, key .. NUL, 1)[1] then redis.call('PUBLISH', META .. ':hints', key) end
  end
`;
