import { freeInMs } from '../../lease/decide/acquire.ts';
import { leaseState } from '../../lease/lease.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeaseInspection } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { WAITING } from './line.ts';
import { toChain, toLease } from './records.ts';
import { script } from './script.ts';
import { CHAINS } from './sessions.ts';

const INSPECT = script(`
  ${CHAINS}
  ${WAITING}
  local key, now = ARGV[1], peek()
  local lease, lease_text = fetch(LEASES, key)
  local holder_texts = {}
  local bytes, before = false, false
  if lease then
    holder_texts = select(2, chain_of(lease.session))
    if lease.checkpoint then bytes = redis.call('HGET', BYTES, key .. NUL .. lease.checkpoint.slot) end
    if lease.before then before = redis.call('HGET', BYTES, key .. NUL .. lease.before.slot) end
  end
  local waiting = 0
  for _, member in ipairs(under(LINE, key .. NUL)) do
    if waits(ticket_of(key, member), now) then waiting = waiting + 1 end
  end
  return { now, lease_text or false, bytes, before, holder_texts, waiting }
`);

type InspectReply = readonly [
  now: number,
  lease: Buffer | null,
  bytes: Buffer | null,
  before: Buffer | null,
  holder: Buffer[],
  waiting: number,
];

export async function inspectLease(database: Database, key: LeaseKey): Promise<LeaseInspection> {
  const reply = await database.run<InspectReply>(INSPECT, [key]);
  const [at, record, bytes, before, holderTexts, waiting] = reply;
  const now = at as Instant;
  const lease = toLease({ record, bytes, before });
  const holder = toChain(holderTexts);
  return {
    key,
    state: leaseState(lease, holder, now),
    freeInMs: lease === undefined ? 0 : freeInMs(lease, holder, now),
    waiting,
    ...(lease === undefined ? {} : { record: lease }),
  };
}
