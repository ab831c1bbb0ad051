// The deletions of a sweep: what nobody can refer to any more, after the retention has passed.

import type { LeaseKey, SessionId } from '../../lease/names.ts';
import { toNumber } from './connection.ts';
import type { Database } from './database.ts';
import { toEvent, toLease, toSession } from './records.ts';
import type { Transaction } from './transaction.ts';

/** As many as surely fit into one transaction. */
const AT_ONCE = 20;

/** How many records went; at most `limit`. */
export async function deleteOld(database: Database, limit: number): Promise<number> {
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

/** L-6: only retired keys go. */
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

/** A session stays while it, or one below it, is not over: lives, or carries a term without an end. */
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
  const live = (await tx.list(keys.allLive)).kvs.map((kv) => toSession(kv));
  const ending = (await tx.list(keys.allEnding, { keysOnly: true })).kvs.map(
    ({ key }) => key.slice(keys.allEnding.length) as SessionId,
  );
  const ended = ending.map((id) => keys.ended(id));
  await tx.load(ended, 'seen');
  const carrying = ended.flatMap((key) => tx.get(key) ?? []).map((kv) => toSession(kv));
  return new Set([...live, ...carrying].flatMap(({ path }) => path));
}

/** In the order of their seq, and no further than it is told where a reader can go on (O-1). */
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
  const told = toNumber(tx.get(keys.eventsDeleted)) ?? 0;
  if (going > 0) tx.put(keys.eventsDeleted, String(Math.max(told, last)));
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

/** Entries of an index by time: the key of each, and what it is about. */
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
