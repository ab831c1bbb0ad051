import type { LeaseEvent } from '../../lease/event.ts';
import type { EventPage, ReadEvents } from '../../lease/port.ts';
import { isCompacted } from './client.ts';
import { type Kv, toNumber } from './connection.ts';
import type { Database } from './database.ts';
import { revisionOf, toEvent } from './records.ts';
import type { Transaction } from './transaction.ts';

/**
 * O-1: events have the order of the revisions at which they were written, and whoever reads at a
 * revision sees all up to it: there are no gaps to wait for. They are stored below the revision of the
 * clock under which they were written, so that a reader need not begin with the first.
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
      const page = await wholeBuckets(tx, next, limit);
      events.push(...page.events.filter(({ seq }) => seq > after));
      next = page.next;
    }
    const page = events.slice(0, limit);
    return { kind: 'events', events: page, next: page.at(-1)?.seq ?? after };
  });
}

/** The key at which a reader that has seen this much begins: nothing it has not seen is before it. */
async function firstBucket(database: Database, after: number): Promise<string> {
  const { connection } = database;
  const { keys } = connection;
  // Whatever was written at this revision or later was written under the clock as it was before it.
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

/** Within a bucket keys have no order, so one that does not fit is read to its end. */
async function wholeBuckets(
  tx: Transaction,
  from: string,
  limit: number,
): Promise<{ readonly events: readonly LeaseEvent[]; readonly next: string | undefined }> {
  const { allEvents } = tx.keys;
  const { kvs } = await tx.list(allEvents, { from, limit: limit + 1 });
  const last = kvs.at(-1);
  if (last === undefined || kvs.length <= limit) return { events: inOrder(kvs), next: undefined };
  const bucket = last.key.slice(0, last.key.lastIndexOf('/') + 1);
  const whole = kvs.filter(({ key }) => key < bucket);
  const { kvs: rest } = await tx.list(bucket);
  // After everything below the bucket.
  return { events: inOrder([...whole, ...rest]), next: `${bucket}\u{10ffff}` };
}

function inOrder(kvs: readonly Kv[]): readonly LeaseEvent[] {
  return kvs.map(toEvent).sort((a, b) => a.seq - b.seq);
}
