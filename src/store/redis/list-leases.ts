import { listedLease } from '../../lease/decide/acquire.ts';
import type { ListedLease, ListLeases } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { toChain, toLease } from './records.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';

// Members of one score are ordered by their bytes, so a prefix is a range.
const LIST = script(`
  ${CHAINS}
  local found = {}
  local last = '(' .. ARGV[2] .. string.char(255)
  for _, key in ipairs(redis.call('ZRANGEBYLEX', LISTED, ARGV[1], last, 'LIMIT', 0, ARGV[3])) do
    local lease, text = fetch(LEASES, key)
    local _, texts = chain_of(lease.session)
    found[#found + 1] = { text, texts }
  end
  return { peek(), found }
`);

type ListReply = readonly [now: number, found: readonly (readonly [Buffer, Buffer[]])[]];

export async function listLeases(
  database: Database,
  query: ListLeases,
): Promise<readonly ListedLease[]> {
  const { prefix = '', after, limit } = query;
  const isWithin =
    after !== undefined && Buffer.compare(Buffer.from(after), Buffer.from(prefix)) >= 0;
  const first = isWithin ? `(${after}` : `[${prefix}`;
  const [now, found] = await database.run<ListReply>(LIST, [first, prefix, limit]);
  return found.flatMap(([record, texts]) => {
    const lease = toLease({ record });
    return lease === undefined ? [] : [listedLease(lease, toChain(texts), now as Instant)];
  });
}
