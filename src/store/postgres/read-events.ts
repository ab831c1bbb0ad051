import type { LeaseEvent } from '../../lease/event.ts';
import type { EventPage, ReadEvents } from '../../lease/port.ts';
import { type EventRow, toEvent } from '../lease-rows.ts';
import { type Database, statement } from './database.ts';

// Sequence numbers are taken before commit, so a reader may see 10 while the transaction that took
// 9 is still under way. Whoever took 9 had a transaction id by then (its row was written first). So
// when a gap is first seen, the reader takes an id of its own, which is above all taken so far, and the
// gap is settled in a later read whose oldest running transaction (xmin) is at or past that: whoever
// took 9 has ended, and is seen or never will be. Until then the page ends before the gap (O-1).
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

/** Gaps this reader has met, and the transaction that must have ended before they are settled. */
export type Gaps = Map<number, bigint>;

/** A gap that nobody is about to fill is settled by looking once more. */
const LOOKS_MAX = 2;

export async function readEvents(
  database: Database,
  gaps: Gaps,
  query: ReadEvents,
): Promise<EventPage> {
  for (let look = 1; ; look += 1) {
    const rows = await database.rows<ReadRow>(READ, [query.after, query.limit]);
    const [first] = rows;
    if (first === undefined) return { kind: 'events', events: [], next: query.after };
    if (query.after < first.deleted) return { kind: 'truncated', oldest: first.deleted };
    const { events, next, gap } = pageOf(rows, gaps, query.after);
    if (gap !== undefined && !gaps.has(gap)) {
      const [taken] = await database.rows<{ id: string }>(TAKE_ID, []);
      gaps.set(gap, BigInt(taken?.id ?? first.xmin));
      if (look < LOOKS_MAX) continue;
    }
    return { kind: 'events', events, next };
  }
}

/** The events up to the first gap that is not settled. */
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
