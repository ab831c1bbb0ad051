// Reads leases, sessions and events without writing.

import {
  carriedLeases,
  leaseInspection,
  listedLease,
  sessionInspection,
} from '../../lease/decide/inspect.ts';
import type { LeaseEvent } from '../../lease/event.ts';
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
import { isCompacted } from './client.ts';
import { type Kv, toNumber } from './connection.ts';
import type { Database, Transaction } from './database.ts';
import { moveClock } from './join-store.ts';
import { countWaiting, loadChain, loadTerm, withBytes, withNotices } from './load-view.ts';
import { revisionOf, toEvent, toLease } from './records.ts';

export async function inspectLease(database: Database, key: LeaseKey): Promise<LeaseInspection> {
  return database.read(async (tx) => {
    const { lease, holder } = await loadTerm(tx, key);
    const waiting = await countWaiting(tx, key);
    const record = lease === undefined ? undefined : await withBytes(tx, lease);
    return leaseInspection(key, { lease: record, holder, waiting }, tx.now);
  });
}

export async function inspectSession(
  database: Database,
  id: SessionId,
): Promise<SessionInspection | undefined> {
  return database.read(async (tx) => {
    const chain = await withNotices(tx, await loadChain(tx, id));
    return sessionInspection(chain, tx.now);
  });
}

export async function listLeases(
  database: Database,
  query: ListLeases,
): Promise<readonly ListedLease[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    const prefix = keys.allTerms + (query.prefix ?? '');
    // The smallest key after `query.after`.
    const after = query.after === undefined ? '' : `${keys.allTerms}${query.after}\0`;
    const from = Buffer.compare(Buffer.from(after), Buffer.from(prefix)) > 0 ? after : prefix;
    const { kvs } = await tx.list(prefix, { from, limit: query.limit });
    const names = kvs.map(({ key }) => key.slice(keys.allTerms.length) as LeaseKey);
    await tx.load(names.map((key) => keys.lease(key)));
    const listed: ListedLease[] = [];
    for (const [index, key] of names.entries()) {
      const lease = toLease(key, kvs[index], tx.get(keys.lease(key)));
      if (lease === undefined) continue;
      const holder = await loadChain(tx, lease.session);
      listed.push(listedLease(lease, holder, tx.now));
    }
    return listed;
  });
}

export async function listSessions(
  database: Database,
  query: ListSessions,
): Promise<readonly SessionInspection[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    const prefixes = query.all === true ? [keys.allLive, keys.allEnded] : [keys.allLive];
    const found = await Promise.all(
      prefixes.map((prefix) => {
        // The smallest key after `query.after`.
        const from = query.after === undefined ? prefix : `${prefix}${query.after}\0`;
        return tx.names<SessionId>(prefix, { from, limit: query.limit });
      }),
    );
    const ids = found.flat().sort().slice(0, query.limit);
    // Fetches all keys at once. The loads below then find them.
    await tx.load(
      ids.flatMap((id) => [keys.live(id), keys.notices(id)]),
      'seen',
    );
    const listed: SessionInspection[] = [];
    for (const id of ids) {
      const chain = await withNotices(tx, await loadChain(tx, id, 'seen'));
      const one = sessionInspection(chain, tx.now);
      if (one !== undefined) listed.push(one);
    }
    return listed;
  });
}

export async function listCarried(
  database: Database,
  id: SessionId,
): Promise<readonly CarriedLease[]> {
  const carried = await database.read((tx) => carriedAt(tx, id, () => tx.now));
  if (carried.every(({ deadlineInMs }) => deadlineInMs === undefined)) return carried;
  // The holder acts on the remaining time, so it must not be too long. Write the current time and
  // count from the sending of that request.
  const latest = await moveClock(database);
  return database.read((tx) => carriedAt(tx, id, latest));
}

async function carriedAt(
  tx: Transaction,
  id: SessionId,
  time: () => Instant,
): Promise<readonly CarriedLease[]> {
  const { keys } = tx;
  const holder = await loadChain(tx, id);
  const names = await tx.names<LeaseKey>(keys.carriedBy(id));
  await tx.load(names.flatMap((key) => [keys.term(key), keys.lease(key)]));
  const leases = names.flatMap(
    (key) => toLease(key, tx.get(keys.term(key)), tx.get(keys.lease(key))) ?? [],
  );
  return carriedLeases(leases, holder, time());
}

/**
 * Events are ordered by their revisions, and a read at one revision sees all events up to it, so
 * there are no gaps to wait for (O-1). They are grouped by the clock's revision, so that a reader
 * need not start at the first event.
 */
export async function readEvents(database: Database, query: ReadEvents): Promise<EventPage> {
  const { after, limit } = query;
  const from = await firstBucket(database, after);
  return database.read(async (tx) => {
    const { keys } = tx;
    await tx.load([keys.eventsDeleted]);
    const deleted = toNumber(tx.get(keys.eventsDeleted)) ?? 0;
    if (after < deleted) return { kind: 'truncated', oldest: deleted };
    const events: LeaseEvent[] = [];
    for (let next: string | undefined = from; next !== undefined && events.length < limit; ) {
      const page = await fullBuckets(tx, next, limit);
      events.push(...page.events.filter(({ seq }) => seq > after));
      next = page.next;
    }
    const page = events.slice(0, limit);
    return { kind: 'events', events: page, next: page.at(-1)?.seq ?? after };
  });
}

/** Returns the key at which a reader that has seen `after` starts. No unseen event is before it. */
async function firstBucket(database: Database, after: number): Promise<string> {
  const { connection } = database;
  const { keys } = connection;
  // An event at this revision or later is grouped under the clock's value just before it, or a
  // newer one.
  const revision = revisionOf(after) - 1;
  if (revision < 1) return keys.allEvents;
  try {
    const { kvs } = await connection.fetch([keys.clock], revision);
    const clock = kvs.get(keys.clock);
    return clock === undefined ? keys.allEvents : keys.eventsUnder(clock.modRevision);
  } catch (fault) {
    if (!isCompacted(fault)) throw fault;
    return keys.allEvents;
  }
}

/** Keys within a group have no order, so a group that exceeds the limit is read to its end. */
async function fullBuckets(
  tx: Transaction,
  from: string,
  limit: number,
): Promise<{ readonly events: readonly LeaseEvent[]; readonly next: string | undefined }> {
  const { allEvents } = tx.keys;
  const { kvs } = await tx.list(allEvents, { from, limit: limit + 1 });
  const last = kvs.at(-1);
  if (last === undefined || kvs.length <= limit) return { events: inOrder(kvs), next: undefined };
  const bucket = last.key.slice(0, last.key.lastIndexOf('/') + 1);
  const complete = kvs.filter(({ key }) => key < bucket);
  const { kvs: rest } = await tx.list(bucket);
  // Sorts after every key in the group.
  return { events: inOrder([...complete, ...rest]), next: `${bucket}\u{10ffff}` };
}

function inOrder(kvs: readonly Kv[]): readonly LeaseEvent[] {
  return kvs.map(toEvent).sort((a, b) => a.seq - b.seq);
}
