import type { EventPage, ReadEvents } from '../../lease/port.ts';
import { type EventRow, toEvent } from '../lease-rows.ts';
import type { ReadTransaction } from './transaction.ts';

// If all events were deleted, the oldest is the next one to be written.
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

/**
 * Reads events in order from any point. A reader behind the retention gets `truncated`, so it never
 * misses events unnoticed (O-1).
 */
export function readEvents(tx: ReadTransaction, query: ReadEvents): EventPage {
  const { after, limit } = query;
  const oldest = tx.get<{ oldest: number }>(OLDEST)?.oldest ?? 1;
  if (after + 1 < oldest) return { kind: 'truncated', oldest: oldest - 1 };
  const events = tx.all<EventRow>(PAGE, { after, limit }).map(toEvent);
  return { kind: 'events', events, next: events.at(-1)?.seq ?? after };
}
