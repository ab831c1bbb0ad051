// Reads leases and sessions without writing.

import {
  carriedLeases,
  leaseInspection,
  listedLease,
  sessionInspection,
  sessionInspections,
} from '../../../lease/decide/inspect.ts';
import type { LeaseKey, SessionId } from '../../../lease/names.ts';
import type {
  CarriedLease,
  LeaseInspection,
  LeaseStore,
  ListedLease,
  ListLeases,
  SessionInspection,
} from '../../../lease/port.ts';
import type { SessionChain } from '../../../lease/session.ts';
import type { Instant } from '../../../support/clock.ts';
import type { CarriedPage, CoordinatorSessions } from '../../contract/execution-store.ts';
import { type LeaseRow, type SessionRow, toChain, toLease, toMetadata } from '../../lease-rows.ts';
import { all, one, type PlainGateway, type Script } from '../script.ts';
import { both, type ChainColumn, leaseHeads, loadFullTerm } from './views.ts';

export function leaseReadsOf({ read }: PlainGateway): {
  readonly sessions: Pick<CoordinatorSessions, 'inspect' | 'list' | 'leases'>;
  readonly leases: Pick<LeaseStore, 'inspect' | 'list'>;
} {
  return {
    sessions: {
      inspect: (id) => read(() => inspectSession(id)),
      list: (query) => read(() => listSessions(query)),
      leases: (id, page) => read(() => listCarried(id, page)),
    },
    leases: {
      inspect: (key) => read(() => inspectLease(key)),
      list: (query) => read(() => listLeases(query)),
    },
  };
}

function* inspectLease(key: LeaseKey): Script<LeaseInspection> {
  const { now, ...seen } = yield* loadFullTerm(key);
  return leaseInspection(key, seen, now);
}

const INSPECT_SESSION = both(
  (d) => `
  select hf_now() as now, ${d.chainOf('l.id')} as holder, l.metadata
    from hf.session as l
   where l.id = :id`,
);

function* inspectSession(id: SessionId): Script<SessionInspection | undefined> {
  const row = yield* one<SeenSession>(INSPECT_SESSION, { id });
  return row === undefined ? undefined : sessionInspection(describedChain(row), row.now);
}

type SeenSession = Seen & Pick<SessionRow, 'metadata'>;

function describedChain({ holder, metadata }: SeenSession): SessionChain {
  const chain = toChain(holder);
  const session = chain.at(-1);
  if (session === undefined) return chain;
  return [...chain.slice(0, -1), { ...session, metadata: toMetadata(metadata) }];
}

// The store compares keys byte by byte, so a prefix is a range of the primary key.
// Only the first lease of each session carries its chain.
const LIST_LEASES = both(
  (d) => `
  select hf_now() as now, l.*,
         case when row_number() over (partition by l.session_id order by l.key) = 1
              then ${d.chainOf('l.session_id')} end as holder
    from (select ${leaseHeads(d)}
            from hf.lease as l
           where l.key >= :prefix
             and l.key <= :last
             and substr(l.key, 1, length(:prefix::text)) = :prefix
             and l.key > :after
           order by l.key
           limit :limit) as l
   order by l.key`,
);

/** A prefix followed by these characters sorts after every text that starts with the prefix. */
const LAST_CHARACTERS = '\u{10ffff}'.repeat(4);

type ProjectSessions = Parameters<CoordinatorSessions['list']>[0];

interface Seen {
  readonly now: Instant;
  readonly holder: ChainColumn;
}

function* listLeases(query: ListLeases): Script<readonly ListedLease[]> {
  const { prefix = '', after = '', limit } = query;
  const last = `${prefix}${LAST_CHARACTERS}`;
  const rows = yield* all<LeaseRow & Seen>(LIST_LEASES, { prefix, last, after, limit });
  const chains = new Map<string, SessionChain>();
  for (const { session_id, holder } of rows) {
    if (holder !== null) chains.set(session_id, toChain(holder));
  }
  return rows.map((row) => listedLease(toLease(row), chains.get(row.session_id) ?? [], row.now));
}

// Uses the index of living sessions, so that a page does not read all ended ones.
const LIST_LIVING = both(
  (d) => `
  select hf_now() as now, ${d.chainOf('l.id')} as holder, l.metadata
    from hf.session as l indexed by session_expiry
   where l.ended_at is null
     and l.id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
   order by l.id
   limit :limit`,
);

// Finds the project's sessions by their own index: in the order of ids, it would read those of all.
const LIST_PROJECT = both(
  (d) => `
  with own as materialized (
    select s.id
      from hf.session as s indexed by session_project
     where ${d.project} == :project
       and s.ended_at is null
  ),
  page as materialized (
    select o.id
      from own as o
     where o.id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
     order by o.id
     limit :limit
  )
  select hf_now() as now, ${d.chainOf('p.id')} as holder,
         (select l.metadata from hf.session as l where l.id = p.id) as metadata
    from page as p
   order by p.id`,
);

const LIST_ALL = both(
  (d) => `
  select hf_now() as now, ${d.chainOf('l.id')} as holder, l.metadata
    from hf.session as l
   where l.id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
   order by l.id
   limit :limit`,
);

function* listSessions(query: ProjectSessions): Script<readonly SessionInspection[]> {
  const living = query.project === undefined ? LIST_LIVING : LIST_PROJECT;
  const rows = yield* all<SeenSession>(query.all === true ? LIST_ALL : living, query);
  const chains = rows.map(describedChain);
  return rows[0] === undefined ? [] : sessionInspections(chains, rows[0].now);
}

// The index of the session comes first: in the order of keys, it would read the leases of all.
const CARRIED = both(
  (d) => `
  with own as materialized (
    select l.key
      from hf.lease as l indexed by lease_carried
     where l.session_id = :id
       and l.ended_at is null
  ),
  page as materialized (
    select o.key
      from own as o
     where o.key > :after
     order by o.key
     limit :limit
  )
  select hf_now() as now, ${leaseHeads(d)},
         case when row_number() over () = 1 then ${d.chainOf(':id')} end as holder
    from page as p
    join hf.lease as l on l.key == p.key`,
);

function* listCarried(
  id: SessionId,
  { after = '' as LeaseKey, limit }: CarriedPage = { limit: Number.MAX_SAFE_INTEGER },
): Script<readonly CarriedLease[]> {
  const found: CarriedLease[] = [];
  for (let last: string | undefined = after; last !== undefined; ) {
    const left = limit - found.length;
    const rows: readonly (LeaseRow & Seen)[] = yield* all(CARRIED, {
      id,
      after: last,
      limit: left,
    });
    const first = rows.find(({ holder }) => holder !== null);
    if (first === undefined) break;
    // Terms that ended without a record are left out, so a page may need more rows.
    found.push(...carriedLeases(rows.map(toLease), toChain(first.holder), first.now));
    const isMore = rows.length === left && found.length < limit;
    last = isMore ? rows.map(({ key }) => key).reduce((a, b) => (a > b ? a : b)) : undefined;
  }
  return found;
}
