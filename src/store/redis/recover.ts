// Handles a restart, a failover or a restore of the Redis server.
//
// Redis has no name for a data set that outlives a restart: a run id belongs to one process. So the
// store infers if a restarted server still has everything. It trusts only a single server that
// flushes before every reply, in the same place as before (E-6). Any other server may have
// forgotten grants. Then the store raises the epoch before it grants anything (T-4). It also gives
// notice to every live session, so that holders check which of their leases still exist.
//
// This matters to grants, reclaim, heartbeats and fences that were never issued. Their scripts
// compare the run id themselves, in the same step, and return "moved".

import { EPOCH_MAX, epochOf, FENCE_ORIGIN } from '../../lease/fence.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { EpochRaised, RaiseEpoch, Recovered } from '../../lease/port.ts';
import { AssertionFault, assert } from '../../support/assert.ts';
import { StoreUnavailable } from '../../support/fault.ts';
import type { Database } from './database.ts';
import { APPEND_EVENTS, CHAINS, NOTIFY_ALL, script, WRITE_SESSION } from './lua.ts';
import { isTrusted, type ServerFacts } from './server-facts.ts';

/**
 * `seen` is the highest fence that this client knows to be issued. A store that has issued less has
 * gone back, whatever the server reports.
 */
export const SAME_SERVER = `
  local function run_id()
    local told = redis.call('INFO', 'server')
    local _, last = string.find(told, 'run_id:', 1, true)
    return string.sub(told, last + 1, last + 40)
  end

  local function is_same_server(seen)
    local known = redis.call('HMGET', META, 'run', 'fence')
    return tonumber(known[2] or 0) >= tonumber(seen)
      and known[1] == run_id() -- guard: run
  end
`;

// Extends a session at most once per heartbeat, so that repeated outages cannot extend it for ever
// (E-6). Extended sessions are in a set of their own and are skipped.
export const EXTEND_LIVING = `
  local function extend_living(now, graceMs)
    local count = 0
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', LIVING, '-inf', now + graceMs)) do
      local session = fetch(SESSIONS, id)
      local fairUntil = now + math.min(session.ttlMs, graceMs)
      if true
        and session.expiresAt < fairUntil -- guard: extend
      then
        session.expiresAt = fairUntil
        session.extended = true
        keep_session(session)
        count = count + 1
      end
    end
    return count
  end
`;

/**
 * The highest epoch that a connected client knows (src/store/redis/open.ts); 0 without such a
 * client.
 */
const KNOWN_EPOCH = `
  local function known_epoch()
    local prefix, highest = META .. ':epoch:', 0
    -- A user without the right to ask gets an error, which has no entries.
    for _, name in ipairs(redis.pcall('PUBSUB', 'CHANNELS', '*:meta:epoch:*')) do
      if string.sub(name, 1, #prefix) == prefix then
        highest = math.max(highest, tonumber(string.sub(name, #prefix + 1)) or 0)
      end
    end
    return highest
  end
`;

const ADOPT = script(`
  ${CHAINS}
  ${APPEND_EVENTS}
  ${WRITE_SESSION}
  ${EXTEND_LIVING}
  ${SAME_SERVER}
  ${NOTIFY_ALL}
  ${KNOWN_EPOCH}
  local run, place, trusted, seen, graceMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
  if run ~= run_id() then return { 'again' } end
  local known = redis.call('HMGET', META, 'run', 'place', 'trusted', 'fence', 'halted')
  if is_same_server(seen) then
    -- A replica that was seen once may become the next primary.
    if trusted ~= '1' then redis.call('HSET', META, 'trusted', trusted) end
    return { 'same', known[4] }
  end
  local lived = known[1] and 0 or known_epoch()
  local isNew = not known[1] and tonumber(seen) == 0 and not known[5] and lived == 0
  -- The server was trusted when it was last seen, and is now.
  local isKept = known[3] == '1' and trusted == '1' and tonumber(known[4] or 0) >= tonumber(seen)
    and known[2] == place -- guard: place
  -- A store that lost everything looks new. So its counter starts at the current time, in units of
  -- four milliseconds. The lost store has not reached that, unless it granted 250 leases a second
  -- all its life (T-3).
  local origin = tonumber(known[4] or 0)
  if isNew then origin = ${FENCE_ORIGIN} + math.floor(hf_wall() / 4) end
  if not isNew and not isKept then
    local highest = math.max(${FENCE_ORIGIN}, origin, tonumber(seen), tonumber(known[5] or 0), lived * 2 ^ 40)
    local epoch = math.floor(highest / 2 ^ 40) + 1
    if epoch > ${EPOCH_MAX} then return { 'used-up' } end
    origin = epoch * 2 ^ 40
  end
  local now = tick()
  if not isNew and not isKept then
    local cause = 'server started anew, from ' .. (known[2] or 'nowhere') .. ' to ' .. place
    append_event({ kind = 'epoch-raised', at = now, actor = 'holdfast', cause = cause })
    notify_all(tonumber(known[4] or 0), math.floor(origin / 2 ^ 40))
  end
  extend_living(now, graceMs)
  redis.call('HSET', META, 'fence', digits(origin), 'run', run, 'place', place, 'trusted', trusted)
  return { 'adopted', digits(origin) }
`);

/** Each round follows a restart of the server during the previous one. */
const ROUNDS_MAX = 8;

/** Safe to call at any time, from many processes at once. */
export async function adoptServer(database: Database, policy: LeasePolicy): Promise<ServerFacts> {
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const facts = await database.describeServer();
    const trusted = isTrusted(facts) ? 1 : 0;
    const [result, fence] = await database.run<readonly Buffer[]>(ADOPT, [
      ...[facts.runId, facts.place, trusted, database.seen, policy.recoveryGraceMs],
    ]);
    const kind = String(result);
    if (kind === 'used-up') throw new AssertionFault(`T-3: epochs are used up (${EPOCH_MAX})`);
    if (kind === 'again') continue;
    // From here on, the client knows the position of the fence counter, even if it is never granted
    // a lease (T-3).
    database.noteFence(Number(fence));
    return facts;
  }
  throw new StoreUnavailable('Redis keeps restarting. Nothing was changed. Check its log.');
}

/**
 * Runs a script until it has run on a known server. `ask` returns undefined if its script returned
 * "moved".
 */
export async function onKnownServer<Result>(
  database: Database,
  policy: LeasePolicy,
  ask: () => Promise<Result | undefined>,
): Promise<Result> {
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const result = await ask();
    if (result !== undefined) return result;
    await adoptServer(database, policy);
  }
  throw new StoreUnavailable('Redis keeps restarting. Nothing was changed. Check its log.');
}

const RECOVER = script(`
  ${CHAINS}
  ${WRITE_SESSION}
  ${EXTEND_LIVING}
  return extend_living(tick(), tonumber(ARGV[1]))
`);

export async function recover(database: Database, policy: LeasePolicy): Promise<Recovered> {
  const extended = await database.run<number>(RECOVER, [policy.recoveryGraceMs]);
  return { extended };
}

// Raises the epoch above everything that was issued, shown, or known to this client (T-3, T-4).
const RAISE = script(`
  ${CHAINS}
  ${APPEND_EVENTS}
  ${NOTIFY_ALL}
  local known = redis.call('HMGET', META, 'fence', 'halted')
  local highest = math.max(${FENCE_ORIGIN}, tonumber(known[1] or 0), tonumber(known[2] or 0), tonumber(ARGV[3]))
  local epoch = math.floor(highest / 2 ^ 40) + 1
  if epoch > ${EPOCH_MAX} then return digits(highest) end
  local origin = digits(epoch * 2 ^ 40)
  redis.call('HSET', META, 'fence', origin)
  redis.call('HDEL', META, 'halted')
  notify_all(tonumber(known[1] or 0), epoch)
  append_event({ kind = 'epoch-raised', at = tick(), actor = ARGV[1], cause = ARGV[2] })
  return origin
`);

export async function raiseEpoch(database: Database, request: RaiseEpoch): Promise<EpochRaised> {
  const values = [request.actor, request.reason, database.seen];
  const origin = Number(await database.run<Buffer>(RAISE, values));
  assert(origin % 2 ** 40 === 0, `T-3: epochs are used up (${EPOCH_MAX})`);
  return { kind: 'raised', epoch: epochOf(origin) };
}

// Lua that halts grants after a caller showed a fence that was never issued (T-4).

/** Needs TELL. The alarm is recorded once. The epoch must rise above the highest fence shown. */
export const HALT: string = `
  local function halt(fence, now)
    -- No store issues a fence of the last epoch, so such a value is invalid and halts nothing.
    if math.floor(tonumber(fence) / 2 ^ 40) >= ${EPOCH_MAX} then return end
    local halted = redis.call('HGET', META, 'halted')
    if halted and tonumber(halted) >= tonumber(fence) then return end
    redis.call('HSET', META, 'halted', fence)
    if not halted then append_event({ kind = 'alarm', at = now, alarm = 'fence-ahead', cause = 'fence ' .. fence }) end
  end
`;
