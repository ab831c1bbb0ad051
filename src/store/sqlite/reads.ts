// Looks at leases, sessions and events. Nothing is written.

import { freeInMs } from '../../lease/decide/acquire.ts';
import { listedLease } from '../../lease/decide/inspect.ts';
import { leaseState, ownDeadline, termEnd } from '../../lease/lease.ts';
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
import { authorityMs, chainState, remainingMs } from '../../lease/session.ts';
import { type EventRow, type LeaseRow, toEvent, toLease } from '../lease-rows.ts';
import { countWaiting, LEASE_HEAD, loadChain, loadLeaseWithBytes } from './load-view.ts';
import type { ReadTransaction } from './transaction.ts';

export function inspectLease(tx: ReadTransaction, key: LeaseKey): LeaseInspection {
  const { now } = tx;
  const record = loadLeaseWithBytes(tx, key);
  const holder = loadChain(tx, record?.session);
  return {
    key,
    state: leaseState(record, holder, now),
    freeInMs: record === undefined ? 0 : freeInMs(record, holder, now),
    waiting: countWaiting(tx, key),
    ...(record === undefined ? {} : { record }),
  };
}

export function inspectSession(tx: ReadTransaction, id: SessionId): SessionInspection | undefined {
  const { now } = tx;
  const chain = loadChain(tx, id);
  const session = chain.at(-1);
  if (session === undefined) return undefined;
  return {
    session,
    state: chainState(chain, now),
    authorityMs: Math.max(0, authorityMs(chain, now)),
    remainingMs: Math.max(0, remainingMs(chain, now)),
  };
}

// Text is compared by its bytes, so a prefix is a range of the primary key.
const LIST_LEASES = `
  select ${LEASE_HEAD}
    from lease
   where key >= :prefix
     and key <= :last
     and substr(key, 1, length(:prefix)) = :prefix
     and key > :after
   order by key
   limit :limit`;

/** No text that starts with the prefix comes after the prefix followed by these. */
const LAST_CHARACTERS = '\u{10ffff}'.repeat(4);

export function listLeases(tx: ReadTransaction, query: ListLeases): readonly ListedLease[] {
  const { prefix = '', after = '', limit } = query;
  const last = `${prefix}${LAST_CHARACTERS}`;
  const rows = tx.all<LeaseRow>(LIST_LEASES, { prefix, last, after, limit });
  return rows.map((row) => {
    const lease = toLease(row);
    return listedLease(lease, loadChain(tx, lease.session), tx.now);
  });
}

// By the index of the living, so that a page does not walk over all that have ended.
const LIST_LIVING = `
  select id
    from session indexed by session_expiry
   where ended_at is null
     and id > :after
   order by id
   limit :limit`;

const LIST_ALL = `
  select id
    from session
   where id > :after
   order by id
   limit :limit`;

export function listSessions(
  tx: ReadTransaction,
  query: ListSessions,
): readonly SessionInspection[] {
  const sql = query.all === true ? LIST_ALL : LIST_LIVING;
  return tx
    .all<{ id: SessionId }>(sql, { after: query.after ?? '', limit: query.limit })
    .map(({ id }) => inspectSession(tx, id))
    .filter((each) => each !== undefined);
}

const CARRIED = `
  select ${LEASE_HEAD}
    from lease
   where session_id = :id
     and ended_at is null`;

export function listCarried(tx: ReadTransaction, id: SessionId): readonly CarriedLease[] {
  const { now } = tx;
  const holder = loadChain(tx, id);
  const carried: CarriedLease[] = [];
  for (const lease of tx.all<LeaseRow>(CARRIED, { id }).map(toLease)) {
    if (termEnd(lease, holder, now) !== undefined) continue;
    const deadline = ownDeadline(lease);
    carried.push({
      key: lease.key,
      fence: lease.fence,
      ...(lease.drain === undefined ? {} : { drain: lease.drain }),
      ...(deadline === undefined ? {} : { deadlineInMs: deadline - now }),
    });
  }
  // Not by SQLite, which orders text by its bytes and not as the other stores do.
  return carried.sort((a, b) => (a.key < b.key ? -1 : 1));
}

// When all were deleted, the oldest is the next that will be written.
const OLDEST = `
  select coalesce(
           (select min(seq) from event),
           (select seq + 1 from sqlite_sequence where name = 'event'),
           1) as oldest`;

const PAGE = `
  select seq, at, kind, key, fence, rev, session_id, owner, detail
    from event
   where seq > :after
   order by seq
   limit :limit`;

/** O-1: in order, from any point; what retention deleted is said, never skipped. */
export function readEvents(tx: ReadTransaction, query: ReadEvents): EventPage {
  const { after, limit } = query;
  const oldest = tx.get<{ oldest: number }>(OLDEST)?.oldest ?? 1;
  if (after + 1 < oldest) return { kind: 'truncated', oldest: oldest - 1 };
  const events = tx.all<EventRow>(PAGE, { after, limit }).map(toEvent);
  return { kind: 'events', events, next: events.at(-1)?.seq ?? after };
}
