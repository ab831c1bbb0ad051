import { endedLease } from '../../lease/decide/term.ts';
import { endedEvent } from '../../lease/event.ts';
import type { Fence } from '../../lease/fence.ts';
import { termEnd } from '../../lease/lease.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import { toNumber } from './connection.ts';
import type { Database, Transaction } from './database.ts';
import { isOver, liveSessions, loadChain, loadTerm } from './load-view.ts';
import { reclaim } from './reclaim.ts';
import { toEvent, toLease, toSession, toTicket } from './records.ts';
import { adoptCluster } from './recover.ts';
import { saveLease } from './terms.ts';

export async function sweep(database: Database, request: Sweep): Promise<Swept> {
  const { limit } = request;
  await adoptCluster(database);
  const overdue = await listOverdue(database);
  const candidates = overdue.slice(0, limit);
  const { expired, paused } =
    candidates.length === 0 ? { expired: [], paused: 0 } : await reclaim(database, candidates);
  const ended = await recordEnds(database, limit);
  await dropDeadTickets(database);
  const deleted = await deleteOld(database, limit);
  // Overdue sessions without proof of expiry do not count as more work: another sweep now would not
  // end them.
  const more = (overdue.length > limit && expired.length > 0) || ended.length >= limit;
  return { expired, ended, deleted, paused, more };
}

/** This list is no evidence. `reclaim` checks again (E-2). */
async function listOverdue(database: Database): Promise<readonly SessionId[]> {
  return database.read(async (tx) => {
    const live = await liveSessions(tx);
    const { now } = tx;
    return live
      .filter((session) => session.expiresAt <= now)
      .sort((a, b) => a.expiresAt - b.expiresAt || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id);
  });
}

/** This number certainly fits into one transaction. */
const TICKETS_AT_ONCE = 50;

async function dropDeadTickets(database: Database): Promise<void> {
  await database.write(async (tx) => {
    const { kvs } = await tx.list(tx.keys.allQueues);
    let dropped = 0;
    for (const kv of kvs) {
      if (dropped >= TICKETS_AT_ONCE || !(await isOver(tx, toTicket(kv)))) continue;
      await tx.load([kv.key]);
      if (tx.get(kv.key)?.modRevision !== kv.modRevision) continue;
      tx.delete(kv.key);
      dropped += 1;
    }
  }, 'etcd');
}

// Writes ends that follow from a session or a deadline into the lease's own key, once (E-3).

interface EndedTerm {
  readonly key: LeaseKey;
  readonly fence: Fence;
}

/** Records at most `limit` ends of terms that are over without a record. */
async function recordEnds(database: Database, limit: number): Promise<readonly EndedTerm[]> {
  const { connection } = database;
  const ended: EndedTerm[] = [];
  const record = async (key: LeaseKey): Promise<boolean> => {
    const one = await recordEnd(database, key);
    if (one !== undefined) ended.push(one);
    return ended.length >= limit;
  };
  const holders = [...(await endedHolders(database)), ...(await unknownHolders(database))];
  for (const id of holders) {
    const keys = await connection.names<LeaseKey>(connection.keys.carriedBy(id), { limit });
    for (const key of keys) if (await record(key)) return ended;
    if (keys.length < limit) await forgetEnding(database, id);
  }
  for (const key of await passedDeadlines(database, limit)) if (await record(key)) return ended;
  return ended;
}

/** Checks the listed term again, in the transaction that writes. */
async function recordEnd(database: Database, key: LeaseKey): Promise<EndedTerm | undefined> {
  const { result } = await database.write(async (tx) => {
    const { lease, holder } = await loadTerm(tx, key);
    if (lease === undefined || lease.end !== undefined) return undefined;
    const end = termEnd(lease, holder, tx.now);
    if (end === undefined) return undefined;
    const after = endedLease(lease, end, database.policy);
    saveLease(tx, lease, after);
    tx.append(endedEvent(after, end, tx.now));
    return { key, fence: lease.fence };
  }, 'etcd');
  return result;
}

/** Lists ended sessions, and live ones with an ended ancestor, that may carry leases. */
async function endedHolders(database: Database): Promise<readonly SessionId[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    const live = await liveSessions(tx);
    const living = new Set(live.map(({ id }) => id));
    const orphaned = live.filter(({ path }) => path.some((id) => !living.has(id)));
    const ending = await tx.names<SessionId>(keys.allEnding);
    return [...ending, ...orphaned.map(({ id }) => id)];
  });
}

/** The number of carried keys that one sweep reads. The next sweep continues there. */
const SWEEP_PAGE = 500;

/** Lists unknown sessions that carry leases (E-5). */
async function unknownHolders(database: Database): Promise<readonly SessionId[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    const { allCarried } = keys;
    const from = database.sweptUntil ?? allCarried;
    const page = { from, limit: SWEEP_PAGE, keysOnly: true };
    const { kvs } = await tx.list(allCarried, page);
    database.sweptUntil = kvs.length < SWEEP_PAGE ? undefined : kvs.at(-1)?.key;
    const sessionIn = (key: string) => key.slice(allCarried.length).split('/')[0] as SessionId;
    const holders = [...new Set(kvs.map(({ key }) => sessionIn(key)))];
    // Fetches all keys at once; most of them exist.
    await tx.load(
      holders.map((id) => keys.live(id)),
      'seen',
    );
    const unknown: SessionId[] = [];
    for (const id of holders) {
      if ((await loadChain(tx, id, 'seen')).length === 0) unknown.push(id);
    }
    return unknown;
  });
}

/** The session carries nothing any more, and cannot get anything new. */
async function forgetEnding(database: Database, id: SessionId): Promise<void> {
  await database.write(async (tx) => {
    const ending = tx.keys.ending(id);
    await tx.load([ending]);
    const carried = await tx.names(tx.keys.carriedBy(id), { limit: 1 });
    if (tx.get(ending) !== undefined && carried.length === 0) tx.delete(ending);
  }, 'etcd');
}

async function passedDeadlines(database: Database, limit: number): Promise<readonly LeaseKey[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    await tx.load([keys.clock], 'seen');
    const to = keys.deadline(tx.now + 1, '' as LeaseKey);
    const { kvs } = await tx.list(keys.allDeadlines, { to, limit, keysOnly: true });
    const start = to.length;
    return kvs.map(({ key }) => key.slice(start) as LeaseKey);
  });
}

// The deletions of a sweep: records without references, after the retention.

/** This number certainly fits into one transaction. */
const AT_ONCE = 20;

/** Returns the number of deleted records, at most `limit`. */
async function deleteOld(database: Database, limit: number): Promise<number> {
  let deleted = 0;
  for (const each of [deleteRetired, deleteSessions, deleteEvents]) {
    for (let went = 1; went > 0 && deleted < limit; deleted += went) {
      const some = Math.min(AT_ONCE, limit - deleted);
      went = (await database.write((tx) => each(database, tx, some), 'etcd')).result;
    }
  }
  await deleteFlaps(database);
  return deleted;
}

/** A sweep deletes only retired keys (L-6). */
async function deleteRetired(database: Database, tx: Transaction, limit: number): Promise<number> {
  const { keys } = tx;
  const old = await olderThanRetention(database, tx, { all: keys.allRetired, limit });
  let deleted = 0;
  for (const { index, name } of old) {
    const key = name as LeaseKey;
    await tx.load([keys.term(key), keys.lease(key)]);
    const lease = toLease(key, tx.get(keys.term(key)), tx.get(keys.lease(key)));
    tx.delete(index);
    if (lease?.end?.exit !== 'retired') continue;
    for (const gone of [keys.term(key), keys.lease(key), keys.bytes(key, 0), keys.bytes(key, 1)]) {
      tx.delete(gone);
    }
    deleted += 1;
  }
  return deleted;
}

/** A session stays while it or a descendant lives, or carries a term without a recorded end. */
async function deleteSessions(database: Database, tx: Transaction, limit: number): Promise<number> {
  const { keys } = tx;
  const kept = await stillNeeded(tx);
  const old = await olderThanRetention(database, tx, { all: keys.allGone, limit: 0 });
  const going = old.filter(({ name }) => !kept.has(name)).slice(0, limit);
  for (const { index, name } of going) {
    const id = name as SessionId;
    await tx.load([keys.ended(id), keys.ending(id)]);
    for (const gone of [keys.ended(id), keys.notices(id), index]) tx.delete(gone);
  }
  return going.length;
}

async function stillNeeded(tx: Transaction): Promise<ReadonlySet<string>> {
  const { keys } = tx;
  const live = await liveSessions(tx);
  const ended = (await tx.names<SessionId>(keys.allEnding)).map((id) => keys.ended(id));
  await tx.load(ended, 'seen');
  const carrying = ended.flatMap((key) => tx.get(key) ?? []).map((kv) => toSession(kv));
  return new Set([...live, ...carrying].flatMap(({ path }) => path));
}

/**
 * Deletes events in the order of their seq, and stores the position where a reader can continue
 * (O-1).
 */
async function deleteEvents(database: Database, tx: Transaction, limit: number): Promise<number> {
  const { keys } = tx;
  await tx.load([keys.eventsDeleted]);
  const [first] = (await tx.list(keys.allEvents, { limit: 1, keysOnly: true })).kvs;
  if (first === undefined) return 0;
  const bucket = first.key.slice(0, first.key.lastIndexOf('/') + 1);
  const { kvs } = await tx.list(bucket);
  const before = tx.now - database.policy.retentionMs;
  const events = kvs
    .map((kv) => ({ key: kv.key, event: toEvent(kv) }))
    .sort((a, b) => a.event.seq - b.event.seq);
  let going = events.findIndex(({ event }) => event.at > before);
  going = Math.min(going < 0 ? events.length : going, limit);
  for (const { key } of events.slice(0, going)) tx.delete(key);
  const last = events[going - 1]?.event.seq ?? 0;
  const deleted = toNumber(tx.get(keys.eventsDeleted)) ?? 0;
  if (going > 0) tx.put(keys.eventsDeleted, String(Math.max(deleted, last)));
  return going;
}

async function deleteFlaps(database: Database): Promise<void> {
  await database.write(async (tx) => {
    const { kvs } = await tx.list(tx.keys.allFlaps);
    const { now } = tx;
    const over = kvs.filter((kv) => (toNumber(kv) ?? 0) <= now).slice(0, AT_ONCE);
    await tx.load(over.map(({ key }) => key));
    for (const { key } of over) if ((toNumber(tx.get(key)) ?? 0) <= now) tx.delete(key);
  }, 'etcd');
}

/** Entries of an index by time: the key of each, and the name of its record. */
async function olderThanRetention(
  database: Database,
  tx: Transaction,
  wanted: { readonly all: string; readonly limit: number },
): Promise<readonly { readonly index: string; readonly name: string }[]> {
  const { all, limit } = wanted;
  await tx.load([tx.keys.clock], 'seen');
  const before = tx.now - database.policy.retentionMs;
  if (before < 0) return [];
  const digits = tx.keys.retired(before + 1, '' as LeaseKey).slice(tx.keys.allRetired.length);
  const { kvs } = await tx.list(all, { to: all + digits, limit, keysOnly: true });
  return kvs.map(({ key }) => ({ index: key, name: key.slice(all.length + digits.length) }));
}
