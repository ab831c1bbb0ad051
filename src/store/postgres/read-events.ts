import type { EventPage, ReadEvents } from '../../lease/port.ts';
import { type EventRow, toEvent } from '../lease-rows.ts';
import { type Database, statement } from './database.ts';

// Sequence numbers are taken before commit, so a reader may see 10 while the transaction that took
// 9 is still under way. Whoever took 9 had a transaction id by then (its row was written first), so
// the gap is settled once every transaction that was running when it was seen has ended: the
// oldest running one (xmin) is then at or past the first one not yet started at that time (xmax).
// Until then the page ends before the gap: nothing is ever skipped (O-1).
const READ = statement(`
  select e.seq, e.at, e.kind, e.key, e.fence, e.rev, e.session_id, e.owner, e.detail::text as detail,
         pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
         pg_snapshot_xmax(pg_current_snapshot())::text as xmax,
         (select m.events_deleted from hf.meta m where m.id = 1) as deleted
    from (select 1) as always
    left join (select * from hf.event e where e.seq > $1 order by e.seq limit $2) e on true
   order by e.seq`);

type ReadRow = Partial<EventRow> & {
  readonly xmin: string;
  readonly xmax: string;
  readonly deleted: number;
};

/** Gaps this reader has met, and the transaction that must have started before they are settled. */
export type Gaps = Map<number, bigint>;

export async function readEvents(
  database: Database,
  gaps: Gaps,
  query: ReadEvents,
): Promise<EventPage> {
  const rows = await database.rows<ReadRow>(READ, [query.after, query.limit]);
  const [first] = rows;
  if (first === undefined) return { kind: 'events', events: [], next: query.after };
  if (query.after < first.deleted) return { kind: 'truncated', oldest: first.deleted };
  const events = [];
  let next = query.after;
  for (const row of rows) {
    if (row.seq === undefined || row.seq === null) break;
    if (row.seq > next + 1 && !isSettled(gaps, next + 1, row)) break;
    gaps.delete(next + 1);
    events.push(toEvent(row as EventRow));
    next = row.seq;
  }
  return { kind: 'events', events, next };
}

function isSettled(gaps: Gaps, seq: number, row: ReadRow): boolean {
  const startedBy = gaps.get(seq);
  if (startedBy === undefined) {
    gaps.set(seq, BigInt(row.xmax));
    // Nothing was running at all: the gap is settled already.
    return BigInt(row.xmin) === BigInt(row.xmax);
  }
  return BigInt(row.xmin) >= startedBy;
}
