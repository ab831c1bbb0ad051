// Lua that stops grants: somebody showed a fence that was never issued (T-4).

import { EPOCH_MAX } from '../../lease/fence.ts';

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
