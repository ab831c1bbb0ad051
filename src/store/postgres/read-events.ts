import type { LeaseEvent } from '../../lease/event.ts';
import type { EventPage, ReadEvents } from '../../lease/port.ts';
import { type EventRow, toEvent } from '../lease-rows.ts';
import { type Database, statement } from './database.ts';

// A transaction takes its sequence number before it commits, so a reader may see 10 while the
// writer of 9 is still running. The writer already has a transaction id, because it wrote its row
// first. When the reader first sees a gap, it takes a transaction id of its own, which is greater
// than all existing ones. Once the oldest running transaction (xmin) reaches that id, the writer of
// 9 has ended, and its event is visible or never will be. Until then, the page ends before the gap
// (O-1).
const READ = statement(`
  select e.seq, e.at, e.kind, e.key, e.fence, e.rev, e.session_id, e.owner, e.detail::text as detail,
         pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
         (select m.events_deleted from hf.meta m where m.id = 1) as deleted
    from (select 1) as always
    left join (select * from hf.event e where e.seq > $1 order by e.seq limit $2) e on true
   order by e.seq`);

type ReadRow = Partial<EventRow> & {
  readonly xmin: string;
  readonly deleted: number;
};

const TAKE_ID = statement('select pg_current_xact_id()::text as id');

/** The gaps that this reader met, each with the transaction id that must have ended first. */
export type Gaps = Map<number, bigint>;

/** If no transaction is about to fill a gap, a second read settles it. */
const READS_MAX = 2;

export async function readEvents(
  database: Database,
  gaps: Gaps,
  query: ReadEvents,
): Promise<EventPage> {
  for (let reads = 1; ; reads += 1) {
    const rows = await database.rows<ReadRow>(READ, [query.after, query.limit]);
    const [first] = rows;
    if (first === undefined) return { kind: 'events', events: [], next: query.after };
    if (query.after < first.deleted) return { kind: 'truncated', oldest: first.deleted };
    const { events, next, gap } = pageOf(rows, gaps, query.after);
    if (gap !== undefined && !gaps.has(gap)) {
      const [taken] = await database.rows<{ id: string }>(TAKE_ID, []);
      gaps.set(gap, BigInt(taken?.id ?? first.xmin));
      if (reads < READS_MAX) continue;
    }
    return { kind: 'events', events, next };
  }
}

/** Returns the events up to the first unsettled gap. */
function pageOf(
  rows: readonly ReadRow[],
  gaps: Gaps,
  after: number,
): { readonly events: readonly LeaseEvent[]; readonly next: number; readonly gap?: number } {
  const events: LeaseEvent[] = [];
  let next = after;
  for (const row of rows) {
    if (row.seq === undefined || row.seq === null) break;
    const gap = next + 1;
    if (row.seq > gap && !isSettled(gaps, gap, row)) return { events, next, gap };
    gaps.delete(gap);
    events.push(toEvent(row as EventRow));
    next = row.seq;
  }
  return { events, next };
}

function isSettled(gaps: Gaps, gap: number, row: ReadRow): boolean {
  const takenAfter = gaps.get(gap);
  return takenAfter !== undefined && BigInt(row.xmin) >= takenAfter;
}
