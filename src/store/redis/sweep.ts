import { toFence } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import { onKnownServer, SAME_SERVER } from './adopt-server.ts';
import type { Database } from './database.ts';
import { DELETE_OLD } from './delete-old.ts';
import { HINTS, TELL } from './events.ts';
import { WAITING } from './line.ts';
import { kindOf } from './load-view.ts';
import { breakerArguments, breakerLua, MARK_ENDED, RECLAIM } from './reclaim.ts';
import { script } from './script.ts';
import { CHAINS, WRITE_SESSION } from './sessions.ts';
import { END_TERM, TERMS } from './terms.ts';

// Ends that follow from a deadline, or from a session or one above it, are written into the lease's
// own record. An ended session is looked at until nothing is left below it: it cannot get anything new.
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

  -- Whoever is overdue for longest comes first, had it its fair chance or not.
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

  -- A-7: who waits no more gives up its place.
  local function clear_line(now)
    for _, member in ipairs(redis.call('ZRANGE', LINE, 0, -1)) do
      local key, attempt = string.sub(member, 1, -55), string.sub(member, -36)
      if is_over(ticket_of(key, member), now) then leave_line(key, attempt) end
    end
  end
`;

const SWEEP = script(`
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
  ${WRITE_ENDS}
  ${DELETE_OLD}
  local limit, seen = tonumber(ARGV[1]), ARGV[2]
  if not is_same_server(seen) then return { 'moved' } end
  local now = tick()
  local overdue, isMore = list_overdue(now, limit)
  local expired, paused = reclaim(overdue, now, ${breakerLua(5)})
  local written = write_ends(limit, { now = now, reservationMs = tonumber(ARGV[3]) })
  clear_line(now)
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
