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
  ListSessions,
  SessionInspection,
  SessionStore,
} from '../../../lease/port.ts';
import type { Instant } from '../../../support/clock.ts';
import { type LeaseRow, toChain, toLease } from '../../lease-rows.ts';
import { all, type PlainGateway, type Script } from '../script.ts';
import { both, type ChainColumn, leaseHead, loadChain, loadFullTerm } from './views.ts';

export function leaseReadsOf({ read }: PlainGateway): {
  readonly sessions: Pick<SessionStore, 'inspect' | 'list' | 'leases'>;
  readonly leases: Pick<LeaseStore, 'inspect' | 'list'>;
} {
  return {
    sessions: {
      inspect: (id) => read(() => inspectSession(id)),
      list: (query) => read(() => listSessions(query)),
      leases: (id) => read(() => listCarried(id)),
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

function* inspectSession(id: SessionId): Script<SessionInspection | undefined> {
  const { now, chain } = yield* loadChain(id);
  return sessionInspection(chain, now);
}

// The store compares keys byte by byte, so a prefix is a range of the primary key.
const LIST_LEASES = both(
  (d) => `
  select hf_now() as now, ${d.chainOf('l.session_id')} as holder, ${leaseHead(d)}
    from hf.lease as l
   where l.key >= :prefix
     and l.key <= :last
     and substr(l.key, 1, length(:prefix::text)) = :prefix
     and l.key > :after
   order by l.key
   limit :limit`,
);

/** A prefix followed by these characters sorts after every text that starts with the prefix. */
const LAST_CHARACTERS = '\u{10ffff}'.repeat(4);

interface Seen {
  readonly now: Instant;
  readonly holder: ChainColumn;
}

function* listLeases(query: ListLeases): Script<readonly ListedLease[]> {
  const { prefix = '', after = '', limit } = query;
  const last = `${prefix}${LAST_CHARACTERS}`;
  const rows = yield* all<LeaseRow & Seen>(LIST_LEASES, { prefix, last, after, limit });
  return rows.map((row) => listedLease(toLease(row), toChain(row.holder), row.now));
}

// Uses the index of living sessions, so that a page does not read all ended ones.
const LIST_LIVING = both(
  (d) => `
  select hf_now() as now, ${d.chainOf('l.id')} as holder
    from hf.session as l indexed by session_expiry
   where l.ended_at is null
     and l.id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
   order by l.id
   limit :limit`,
);

const LIST_ALL = both(
  (d) => `
  select hf_now() as now, ${d.chainOf('l.id')} as holder
    from hf.session as l
   where l.id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
   order by l.id
   limit :limit`,
);

function* listSessions(query: ListSessions): Script<readonly SessionInspection[]> {
  const rows = yield* all<Seen>(query.all === true ? LIST_ALL : LIST_LIVING, query);
  const chains = rows.map(({ holder }) => toChain(holder));
  return rows[0] === undefined ? [] : sessionInspections(chains, rows[0].now);
}

const CARRIED = both(
  (d) => `
  select hf_now() as now, ${d.chainOf(':id')} as holder, ${leaseHead(d)}
    from hf.lease as l
   where l.session_id = :id
     and l.ended_at is null`,
);

function* listCarried(id: SessionId): Script<readonly CarriedLease[]> {
  const rows = yield* all<LeaseRow & Seen>(CARRIED, { id });
  const [first] = rows;
  return first === undefined
    ? []
    : carriedLeases(rows.map(toLease), toChain(first.holder), first.now);
}
