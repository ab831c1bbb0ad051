// Reads leases, sessions and events without writing.

import {
  carriedLeases,
  leaseInspection,
  listedLease,
  sessionInspection,
  sessionInspections,
} from '../../lease/decide/inspect.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type {
  CarriedLease,
  EventPage,
  LeaseInspection,
  ListedLease,
  ListLeases,
  ListSessions,
  ReadEvents,
  SessionInspection,
} from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { CHAINS, script, WAITING } from './lua.ts';
import { type StreamEntry, toChain, toEvent, toLease } from './records.ts';

const INSPECT_LEASE = script(`
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
  const reply = await database.run<InspectReply>(INSPECT_LEASE, [key]);
  const [at, record, bytes, before, holder, waiting] = reply;
  const lease = toLease({ record, bytes, before });
  return leaseInspection(key, { lease, holder: toChain(holder), waiting }, at as Instant);
}

const INSPECT_SESSION = script(`
  ${CHAINS}
  local _, texts = chain_of(ARGV[1])
  return { peek(), texts }
`);

export async function inspectSession(
  database: Database,
  id: SessionId,
): Promise<SessionInspection | undefined> {
  const [now, texts] = await database.run<readonly [number, Buffer[]]>(INSPECT_SESSION, [id]);
  return sessionInspection(toChain(texts), now as Instant);
}

// Redis orders members of equal score by their bytes, so a prefix is a range.
const LIST_LEASES = script(`
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
  const [now, found] = await database.run<ListReply>(LIST_LEASES, [first, prefix, limit]);
  return found.flatMap(([record, texts]) => {
    const lease = toLease({ record });
    return lease === undefined ? [] : [listedLease(lease, toChain(texts), now as Instant)];
  });
}

const LIST_SESSIONS = script(`
  ${CHAINS}
  local place, first = ARGV[1] == '1' and KNOWN or OPEN, ARGV[2]
  local chains = {}
  for _, id in ipairs(redis.call('ZRANGEBYLEX', place, first, '+', 'LIMIT', 0, ARGV[3])) do
    local _, texts = chain_of(id)
    chains[#chains + 1] = texts
  end
  return { peek(), chains }
`);

export async function listSessions(
  database: Database,
  query: ListSessions,
): Promise<readonly SessionInspection[]> {
  const { after, limit, all = false } = query;
  const values = [all ? 1 : 0, after === undefined ? '-' : `(${after}`, limit];
  const [now, chains] = await database.run<readonly [number, Buffer[][]]>(LIST_SESSIONS, values);
  return sessionInspections(chains.map(toChain), now as Instant);
}

const LIST_CARRIED = script(`
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
  const reply = await database.run<readonly [number, Buffer[], Buffer[]]>(LIST_CARRIED, [id]);
  const [now, texts, records] = reply;
  const leases = records.flatMap((record) => toLease({ record }) ?? []);
  return carriedLeases(leases, toChain(texts), now as Instant);
}

// Scripts run one after the other, so events have no gaps to wait for.
const READ = script(`
  local deleted = redis.call('HGET', META, 'eventsDeleted') or '0'
  return { deleted, redis.call('XRANGE', EVENTS, '(' .. ARGV[1] .. '-0', '+', 'COUNT', ARGV[2]) }
`);

type ReadReply = readonly [deleted: Buffer, entries: readonly StreamEntry[]];

export async function readEvents(database: Database, query: ReadEvents): Promise<EventPage> {
  const [deleted, entries] = await database.run<ReadReply>(READ, [query.after, query.limit]);
  const oldest = Number(deleted.toString());
  if (query.after < oldest) return { kind: 'truncated', oldest };
  const events = entries.map(toEvent);
  return { kind: 'events', events, next: events.at(-1)?.seq ?? query.after };
}
