import type { EventPage, ReadEvents } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { type EventEntry, toEvent } from './records.ts';
import { script } from './script.ts';

// Scripts run one after the other, so there are no gaps to wait for.
const READ = script(`
  local deleted = redis.call('HGET', META, 'eventsDeleted') or '0'
  return { deleted, redis.call('XRANGE', EVENTS, '(' .. ARGV[1] .. '-0', '+', 'COUNT', ARGV[2]) }
`);

type ReadReply = readonly [deleted: Buffer, entries: readonly EventEntry[]];

export async function readEvents(database: Database, query: ReadEvents): Promise<EventPage> {
  const [deleted, entries] = await database.run<ReadReply>(READ, [query.after, query.limit]);
  const oldest = Number(deleted.toString());
  if (query.after < oldest) return { kind: 'truncated', oldest };
  const events = entries.map(toEvent);
  return { kind: 'events', events, next: events.at(-1)?.seq ?? query.after };
}
