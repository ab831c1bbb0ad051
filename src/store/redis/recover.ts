import { EPOCH_MAX, epochOf, FENCE_ORIGIN } from '../../lease/fence.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { EpochRaised, RaiseEpoch, Recovered } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Database } from './database.ts';
import { TELL } from './events.ts';
import { script } from './script.ts';
import { CHAINS, NOTIFY_ALL, WRITE_SESSION } from './sessions.ts';

// E-6: at most once per heartbeat received, so that repeated outages cannot extend for ever. Those
// that were extended are in a set of their own, and not looked at.
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

// T-3, T-4: above everything issued, shown, or told to this client.
const RAISE = script(`
  ${CHAINS}
  ${TELL}
  ${NOTIFY_ALL}
  local known = redis.call('HMGET', META, 'fence', 'halted')
  local highest = math.max(${FENCE_ORIGIN}, tonumber(known[1] or 0), tonumber(known[2] or 0), tonumber(ARGV[3]))
  local epoch = math.floor(highest / 2 ^ 40) + 1
  if epoch > ${EPOCH_MAX} then return digits(highest) end
  local origin = digits(epoch * 2 ^ 40)
  redis.call('HSET', META, 'fence', origin)
  redis.call('HDEL', META, 'halted')
  notify_all(tonumber(known[1] or 0), epoch)
  tell({ kind = 'epoch-raised', at = tick(), actor = ARGV[1], cause = ARGV[2] })
  return origin
`);

export async function raiseEpoch(database: Database, request: RaiseEpoch): Promise<EpochRaised> {
  const values = [request.actor, request.reason, database.seen];
  const origin = Number(await database.run<Buffer>(RAISE, values));
  assert(origin % 2 ** 40 === 0, `T-3: epochs are used up (${EPOCH_MAX})`);
  return { kind: 'raised', epoch: epochOf(origin) };
}

// Lua that stops grants: somebody showed a fence that was never issued (T-4).

/** Needs TELL. The alarm goes off once; the epoch must rise above the highest fence shown. */
export const HALT: string = `
  local function halt(fence, now)
    -- No store ever issues one of the last epoch: that one is nonsense and stops nobody.
    if math.floor(tonumber(fence) / 2 ^ 40) >= ${EPOCH_MAX} then return end
    local halted = redis.call('HGET', META, 'halted')
    if halted and tonumber(halted) >= tonumber(fence) then return end
    redis.call('HSET', META, 'halted', fence)
    if not halted then tell({ kind = 'alarm', at = now, alarm = 'fence-ahead', cause = 'fence ' .. fence }) end
  end
`;
