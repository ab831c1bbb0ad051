// Reads the views that decisions and readers need. Each view is one statement, so it shows one
// moment. After a guarded statement refused, a view only explains the refusal: nothing is written
// because of it.

import type { AcquireView } from '../../../lease/decide/acquire.ts';
import type { TermView } from '../../../lease/decide/term.ts';
import { toFence } from '../../../lease/fence.ts';
import { UNITS_FREE } from '../../../lease/flap.ts';
import type { LeaseRecord } from '../../../lease/lease.ts';
import type { LeaseKey, SessionId } from '../../../lease/names.ts';
import type { LeasePolicy } from '../../../lease/policy.ts';
import type { Acquire } from '../../../lease/port.ts';
import { PROJECT_METADATA, type SessionChain } from '../../../lease/session.ts';
import type { Instant } from '../../../support/clock.ts';
import { StoreCorrupt } from '../../../support/fault.ts';
import { wordsIn } from '../../../support/options.ts';
import { type LeaseRow, type SessionRow, toChain, toLease } from '../../lease-rows.ts';
import { type Dialects, dialects, one, type Script, type Sql, sqlPerDialect } from '../script.ts';

/** The parts of a statement that differ between the two stores. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /**
   * A session and its ancestors, in the form that `toChain` takes. Without metadata, because no
   * decision needs it and each session may have much of it.
   */
  chainOf(session: string): string;
  /** The column's value is the id of the session or of an ancestor, found by the column's index. */
  ancestry(column: string, session: string): string;
  /** The ids of a path, as rows of `step` with the column `value`. */
  steps(path: string): string;
  depth(path: string): string;
  /** The column's value is among the subquery's results, found by the column's index. */
  among(column: string, subquery: string): string;
  /** Reads rows with these typed columns from a JSON parameter. */
  records(parameter: string, columns: Readonly<Record<string, string>>): string;
  least(a: string, b: string): string;
  greatest(a: string, b: string): string;
  readonly lastIssued: string;
  readonly noBytes: string;
  /** An expression for the project of a session's row. */
  readonly project: string;
}

const CHAIN_COLUMNS = wordsIn(
  'id owner path ttl_ms grace_ms opened_at beat_at expires_at extended notices ended_at exit cause actor',
);

export const SQLITE: Dialect = {
  name: 'sqlite',
  chainOf(session) {
    const fields = CHAIN_COLUMNS.map(
      (name) => `'${name}', ${name === 'path' ? `json(a.${name})` : `a.${name}`}`,
    );
    return `(select json_group_array(json_object(${fields.join(', ')})) from session as s join json_each(s.path) as step join session as a on a.id = step.value where s.id = ${session})`;
  },
  ancestry: (column, session) =>
    `${column} in (select step.value from session as h, json_each(h.path) as step where h.id = ${session})`,
  steps: (path) => `json_each(${path}) as step`,
  depth: (path) => `json_array_length(${path})`,
  among: (column, subquery) => `${column} in (${subquery})`,
  records(parameter, columns) {
    const fields = Object.keys(columns).map((name) => `value ->> '${name}' as ${name}`);
    return `(select ${fields.join(', ')} from json_each(${parameter}))`;
  },
  least: (a, b) => `min(${a}, ${b})`,
  greatest: (a, b) => `max(${a}, ${b})`,
  lastIssued: '(select m.fence from meta as m where m.id = 1)',
  noBytes: "x''",
  project: `metadata ->> '$."${PROJECT_METADATA}"'`,
};

export const POSTGRES: Dialect = {
  name: 'postgres',
  chainOf: (session) =>
    `(select json_agg(c) from (select ${CHAIN_COLUMNS.map((name) => `a.${name}`).join(', ')} from hf.session s join hf.session a on a.id = any (s.path) where s.id = ${session}) c)`,
  ancestry: (column, session) =>
    `${column} = any ((select h.path from hf.session h where h.id = ${session})::uuid[])`,
  steps: (path) => `unnest(${path}) as step(value)`,
  depth: (path) => `cardinality(${path})`,
  among: (column, subquery) => `${column} = any (array(${subquery}))`,
  records(parameter, columns) {
    const fields = Object.entries(columns).map(([name, type]) => `r.${name}::${type}`);
    const texts = Object.keys(columns).map((name) => `${name} text`);
    return `(select ${fields.join(', ')} from jsonb_to_recordset(${parameter}::jsonb) as r(${texts.join(', ')}))`;
  },
  least: (a, b) => `least(${a}, ${b})`,
  greatest: (a, b) => `greatest(${a}, ${b})`,
  lastIssued:
    '(select case when f.is_called then f.last_value else f.last_value - 1 end from hf.fence f)',
  noBytes: "''::bytea",
  project: `metadata ->> '${PROJECT_METADATA}'`,
};

const DIALECTS: Dialects<Dialect> = { sqlite: SQLITE, postgres: POSTGRES };

/** Builds one text for both stores from the parts of each dialect. */
export function both(text: (dialect: Dialect) => string): Sql {
  return sqlPerDialect(DIALECTS, text);
}

/** For locks, which SQLite does not need: it holds the write lock. */
export function onPostgres(text: string): Sql {
  return dialects({ sqlite: '', postgres: text });
}

/**
 * All columns of LeaseRow. `bytes` selects the bytes of the checkpoints, or nothing in their place;
 * `intents` the open intents, or none.
 */
function leaseColumns(bytes: (column: string) => string, intents = 'l.intents::text'): string {
  return `
  l.key, l.fence, l.session_id, l.owner, l.attempt_id, l.rev, l.granted_at, l.hard_deadline_at,
  l.drain_request_id, l.drain_by, l.drain_reason, l.drain_requested_at, l.drain_deadline_at,
  l.drain_successor, l.ended_at, l.exit, l.cause, l.actor, l.end_request_id,
  l.prev_exit, l.prev_owner, l.prev_fence, l.prev_ended_at, l.prev_cause, l.prev_actor,
  l.checkpoint_seq, ${bytes('checkpoint_bytes')} as checkpoint_bytes, l.checkpoint_digest,
  l.checkpoint_fence, l.checkpoint_at, l.checkpoint_type, l.before_seq,
  ${bytes('before_bytes')} as before_bytes, l.before_digest, l.before_fence, l.before_at,
  l.before_type, l.losses_since_checkpoint, ${intents} as intents,
  l.reserved_for, l.reserved_until`;
}

export const LEASE_COLUMNS: string = leaseColumns((column) => `l.${column}`);

/** Omits the bytes of checkpoints, because no decision needs them. */
export function leaseHead({ noBytes }: Dialect): string {
  return leaseColumns(() => noBytes);
}

/** Also omits the intents: many leases at once would have too much text. */
export function leaseHeads({ noBytes }: Dialect): string {
  return leaseColumns(() => noBytes, "'[]'");
}

/**
 * True when the waiter's session has ended or the waiter no longer asks. A session that got more
 * time keeps its ticket, because it may count again (A-7).
 */
export function placeIsOver({ steps }: Dialect, ticket: string): string {
  return `${ticket}.expires_at <= hf_now() or not exists (
    select 1
      from hf.session as w
     where w.id = ${ticket}.session_id
       and not exists (select 1 from ${steps('w.path')} left join hf.session as a on a.id == step.value where a.id is null or a.ended_at is not null)
  )`;
}

/**
 * True when the ticket counts: the waiter still asks, and each session of its chain sent a
 * heartbeat within its ttl (A-7).
 */
function placeCounts(dialect: Dialect, ticket: string): string {
  return `not (${placeIsOver(dialect, ticket)}) and not exists (
    select 1
      from hf.session as w, ${dialect.steps('w.path')}, hf.session as a
     where w.id = ${ticket}.session_id and a.id == step.value and a.beat_at + a.ttl_ms <= hf_now()
  )`;
}

export type ChainColumn = string | readonly SessionRow[] | null;

const CHAIN = both((d) => `select hf_now() as now, ${d.chainOf(':id')} as chain`);

/** Returns the chain, root first. Empty when the session is unknown. */
export function* loadChain(
  id: SessionId,
): Script<{ readonly now: Instant; readonly chain: SessionChain }> {
  const row = yield* one<{ now: Instant; chain: ChainColumn }>(CHAIN, { id });
  return { now: nowIn(row), chain: toChain(row?.chain) };
}

type TermRow = Partial<LeaseRow> & {
  readonly now: Instant;
  readonly last_issued: number;
  readonly holder: ChainColumn;
};

const TERM = both(
  (d) => `
  select hf_now() as now, ${d.lastIssued} as last_issued, ${d.chainOf('l.session_id')} as holder,
         ${leaseHead(d)}
    from (select 1) as always
    left join hf.lease as l on l.key = :key`,
);

/**
 * Loads a lease without the bytes of its checkpoints, its holder's chain and the greatest issued
 * fence.
 */
export function* loadTerm(key: LeaseKey): Script<TermView & { readonly now: Instant }> {
  const row = yield* one<TermRow>(TERM, { key });
  return {
    now: nowIn(row),
    lease: leaseIn(row),
    holder: toChain(row?.holder),
    lastIssued: row?.last_issued ?? 0,
  };
}

const FULL_TERM = both(
  (d) => `
  select hf_now() as now, ${d.chainOf('l.session_id')} as holder,
         (select count(*) from hf.ticket as t where t.key = :key and ${placeCounts(d, 't')}) as waiting,
         ${LEASE_COLUMNS}
    from (select 1) as always
    left join hf.lease as l on l.key = :key`,
);

/** Loads a lease with the bytes of its checkpoints, and the number of waiters. */
export function* loadFullTerm(key: LeaseKey): Script<{
  readonly now: Instant;
  readonly lease: LeaseRecord | undefined;
  readonly holder: SessionChain;
  readonly waiting: number;
}> {
  const row = yield* one<TermRow & { readonly waiting: number }>(FULL_TERM, { key });
  return {
    now: nowIn(row),
    lease: leaseIn(row),
    holder: toChain(row?.holder),
    waiting: row?.waiting ?? 0,
  };
}

// An owner that flap damping keeps from the key does not make others wait (G-4).
const ENTRY = both(
  (d) => `
  select hf_now() as now, ${d.chainOf(':session')} as own, ${d.chainOf('l.session_id')} as holder,
         (select count(*)
            from hf.ticket as t
           where t.key = :key
             and t.id < coalesce((select mine.id from hf.ticket as mine where mine.key = :key and mine.attempt_id = :attempt), 9007199254740991)
             and ${placeCounts(d, 't')}
             and not exists (
                   select 1
                     from hf.flap as f
                     join hf.session as w on w.owner = f.owner
                    where f.key = t.key
                      and w.id = t.session_id
                      and :flapUnitMs::bigint > 0
                      and f.until - hf_now() > ${UNITS_FREE} * :flapUnitMs)) as ahead,
         (select max(t.id) from hf.ticket as t where t.key = :key) as line_end,
         (select f.until
            from hf.flap as f
           where f.key = :key
             and f.owner = (select s.owner from hf.session as s where s.id = :session)) as flap_until,
         (select m.halted from hf.meta as m where m.id = 1) as halted,
         ${leaseHead(d)}
    from (select 1) as always
    left join hf.lease as l on l.key = :key`,
);

type EntryRow = TermRow & {
  readonly own: ChainColumn;
  readonly ahead: number;
  readonly line_end: number | null;
  readonly flap_until: number | null;
  readonly halted: number | null;
};

export interface EntryView extends AcquireView {
  readonly now: Instant;
  /** The last ticket that `ahead` considered. */
  readonly queueEnd: number;
}

/** Loads everything that decides if this session may have this key. */
export function* loadEntry(request: Acquire, policy: LeasePolicy): Script<EntryView> {
  const { key, session, attempt } = request;
  const { flapUnitMs } = policy;
  const row = yield* one<EntryRow>(ENTRY, { key, session, attempt, flapUnitMs });
  const flapUntil = row?.flap_until ?? undefined;
  const halted = row?.halted ?? undefined;
  return {
    now: nowIn(row),
    own: toChain(row?.own),
    lease: leaseIn(row),
    holder: toChain(row?.holder),
    ahead: row?.ahead ?? 0,
    queueEnd: row?.line_end ?? 0,
    flapUntil: flapUntil as Instant | undefined,
    halted: halted === undefined ? undefined : toFence(halted),
    policy,
  };
}

function leaseIn(row: Partial<LeaseRow> | undefined): LeaseRecord | undefined {
  return typeof row?.key === 'string' ? toLease(row as LeaseRow) : undefined;
}

/** Each of these statements returns a row, even for an unknown key. */
function nowIn(row: { readonly now: Instant } | undefined): Instant {
  if (row === undefined) throw new StoreCorrupt('A view of leases has no row.');
  return row.now;
}
