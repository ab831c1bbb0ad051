import { EPOCH_MAX, epochOf, FENCE_ORIGIN } from '../../lease/fence.ts';
import type { EpochRaised, RaiseEpoch } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Database } from './database.ts';
import { TELL } from './events.ts';
import { script } from './script.ts';
import { CHAINS, NOTIFY_ALL } from './sessions.ts';

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
