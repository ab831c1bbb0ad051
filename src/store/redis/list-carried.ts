import { ownDeadline, termEnd } from '../../lease/lease.ts';
import type { SessionId } from '../../lease/names.ts';
import type { CarriedLease } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { toChain, toLease } from './records.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';

const LIST = script(`
  ${CHAINS}
  local _, texts = chain_of(ARGV[1])
  local leases = {}
  for _, member in ipairs(under(CARRIED, ARGV[1] .. ':')) do
    leases[#leases + 1] = redis.call('HGET', LEASES, string.sub(member, 38))
  end
  return { peek(), texts, leases }
`);

export async function listCarried(
  database: Database,
  id: SessionId,
): Promise<readonly CarriedLease[]> {
  const reply = await database.run<readonly [number, Buffer[], Buffer[]]>(LIST, [id]);
  const now = reply[0] as Instant;
  const holder = toChain(reply[1]);
  return reply[2]
    .map((record) => toLease({ record }))
    .filter((lease) => lease !== undefined)
    .filter((lease) => termEnd(lease, holder, now) === undefined)
    .map((lease) => {
      const deadline = ownDeadline(lease);
      return {
        key: lease.key,
        fence: lease.fence,
        ...(lease.drain === undefined ? {} : { drain: lease.drain }),
        ...(deadline === undefined ? {} : { deadlineInMs: deadline - now }),
      };
    });
}
