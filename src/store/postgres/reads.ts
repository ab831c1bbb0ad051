// Looks at leases, sessions and events. Nothing is written.

import { freeInMs } from '../../lease/decide/acquire.ts';
import { listedLease } from '../../lease/decide/inspect.ts';
import type { LeaseEvent } from '../../lease/event.ts';
import { leaseState, ownDeadline } from '../../lease/lease.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type {
  CarriedLease,
  EventPage,
  LeaseInspection,
  ListedLease,
  ListLeases,
  ReadEvents,
  SessionInspection,
} from '../../lease/port.ts';
import { authorityMs, chainState, remainingMs, type SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { type EventRow, type LeaseRow, toEvent, toLease } from '../lease-rows.ts';
import { type Database, statement } from './database.ts';
import {
  chainOf,
  LEASE_COLUMNS,
  LEASE_HEAD,
  loadChains,
  loadTerm,
  type SessionJson,
  toChain,
} from './load-view.ts';
import { termEnded } from './predicates.ts';

export async function inspectLease(database: Database, key: LeaseKey): Promise<LeaseInspection> {
  const { now, lease, holder, waiting } = await loadTerm(database, key);
  return {
    key,
    state: leaseState(lease, holder, now),
    freeInMs: lease === undefined ? 0 : freeInMs(lease, holder, now),
    waiting,
    ...(lease === undefined ? {} : { record: lease }),
  };
}

export async function inspectSession(
  database: Database,
  id: SessionId,
): Promise<SessionInspection | undefined> {
  const { now, chains } = await loadChains(database, [id]);
  return inspection(chains[0] ?? [], now);
}

export function inspection(chain: SessionChain, now: Instant): SessionInspection | undefined {
  const session = chain.at(-1);
  if (session === undefined) return undefined;
  return {
    session,
    state: chainState(chain, now),
    authorityMs: Math.max(0, authorityMs(chain, now)),
    remainingMs: Math.max(0, remainingMs(chain, now)),
  };
}

// Keys are compared by their bytes (collation "C"), so a prefix is a range of the primary key.
const LIST_LEASES = statement(`
  select hf_now() as now, ${chainOf('l.session_id')} as holder, ${LEASE_HEAD}
    from hf.lease l
   where l.key >= $1
     and l.key <= $2
     and starts_with(l.key, $1)
     and ($3::text is null or l.key > $3)
   order by l.key
   limit $4`);

/** No text that starts with the prefix comes after the prefix followed by these. */
const LAST_CHARACTERS = '\u{10ffff}'.repeat(4);

export async function listLeases(
  database: Database,
  query: ListLeases,
): Promise<readonly ListedLease[]> {
  const { prefix = '', after = null, limit } = query;
  const rows = await database.rows<LeaseRow & { now: number; holder: SessionJson[] | null }>(
    LIST_LEASES,
    [prefix, `${prefix}${LAST_CHARACTERS}`, after, limit],
  );
  return rows.map((row) => listedLease(toLease(row), toChain(row.holder), row.now as Instant));
}

const CARRIED = statement(`
  select hf_now() as now, ${LEASE_COLUMNS}
    from (select l.* from hf.lease l where l.session_id = $1 and l.ended_at is null offset 0) l
   where not ${termEnded('l')}
   order by l.key collate "C"`);

export async function listCarried(
  database: Database,
  id: SessionId,
): Promise<readonly CarriedLease[]> {
  const rows = await database.rows<LeaseRow & { now: number }>(CARRIED, [id]);
  return rows.map((row) => {
    const lease = toLease(row);
    const deadline = ownDeadline(lease);
    return {
      key: lease.key,
      fence: lease.fence,
      ...(lease.drain === undefined ? {} : { drain: lease.drain }),
      ...(deadline === undefined ? {} : { deadlineInMs: deadline - (row.now as Instant) }),
    };
  });
}

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
