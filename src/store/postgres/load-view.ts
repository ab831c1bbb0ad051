// What a refusal is explained from. Each view is one statement, so it is one moment. By the time it
// is read the guarded statement has already said no, and nothing is written on the strength of it.

import type { TermView } from '../../lease/decide/term.ts';
import { type Fence, toFence } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { Acquire } from '../../lease/port.ts';
import type { SessionChain, SessionRecord } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { type LeaseRow, type SessionRow, toLease, toSession } from '../lease-rows.ts';
import { type Queries, statement } from './database.ts';
import { placeCounts, waiterDamped } from './predicates.ts';

/** All columns, with JSON as text as lease-rows.ts wants it. */
export const LEASE_COLUMNS = `
  l.key, l.fence, l.session_id, l.owner, l.attempt_id, l.rev, l.granted_at, l.hard_deadline_at,
  l.drain_request_id, l.drain_by, l.drain_reason, l.drain_requested_at, l.drain_deadline_at,
  l.drain_successor, l.ended_at, l.exit, l.cause, l.actor, l.end_request_id,
  l.prev_exit, l.prev_owner, l.prev_fence, l.prev_ended_at, l.prev_cause, l.prev_actor,
  l.checkpoint_seq, l.checkpoint_bytes, l.checkpoint_digest, l.checkpoint_fence, l.checkpoint_at,
  l.checkpoint_type, l.before_seq, l.before_bytes, l.before_digest, l.before_fence, l.before_at,
  l.before_type, l.losses_since_checkpoint, l.intents::text as intents,
  l.reserved_for, l.reserved_until`;

/** The same without the bytes of checkpoints, which are read as empty. */
export const LEASE_HEAD: string = LEASE_COLUMNS.replace(
  'l.checkpoint_bytes',
  "''::bytea as checkpoint_bytes",
).replace('l.before_bytes', "''::bytea as before_bytes");

export function chainOf(session: string): string {
  return `(select json_agg(a order by cardinality(a.path)) from hf.session s join hf.session a on a.id = any (s.path) where s.id = ${session})`;
}

export const LAST_ISSUED =
  '(select case when f.is_called then f.last_value else f.last_value - 1 end from hf.fence f)';

const CHAINS = statement(`
  select wanted.id, hf_now() as now, ${chainOf('wanted.id')} as chain
    from unnest($1::uuid[]) with ordinality as wanted(id, nth)
   order by wanted.nth`);

/** The chains of these sessions at one moment; empty for one that is not known. */
export async function loadChains(
  queries: Queries,
  ids: readonly (SessionId | undefined)[],
): Promise<{ readonly now: Instant; readonly chains: readonly SessionChain[] }> {
  const rows = await queries.rows<{ now: number; chain: SessionJson[] | null }>(CHAINS, [
    ids.map((id) => id ?? null),
  ]);
  return { now: (rows[0]?.now ?? 0) as Instant, chains: rows.map((row) => toChain(row.chain)) };
}

const TERM = statement(`
  select hf_now() as now, ${LAST_ISSUED} as last_issued, ${chainOf('l.session_id')} as holder,
         (select count(*) from hf.ticket t where t.key = $1 and ${placeCounts('t')}) as waiting,
         ${LEASE_COLUMNS}
    from (select 1) as always
    left join hf.lease l on l.key = $1`);

type TermRow = Partial<LeaseRow> & {
  readonly now: number;
  readonly last_issued: number;
  readonly holder: SessionJson[] | null;
  readonly waiting: number;
};

/** A lease, who carries it, and the greatest fence issued. */
export async function loadTerm(
  queries: Queries,
  key: LeaseKey,
): Promise<TermView & { readonly now: Instant; readonly waiting: number }> {
  const [row] = await queries.rows<TermRow>(TERM, [key]);
  return {
    now: (row?.now ?? 0) as Instant,
    waiting: row?.waiting ?? 0,
    lease: leaseIn(row),
    holder: toChain(row?.holder ?? null),
    lastIssued: row?.last_issued ?? 0,
  };
}

const ENTRY = statement(`
  select hf_now() as now, ${chainOf('$2')} as own, ${chainOf('l.session_id')} as holder,
         (select count(*)
            from hf.ticket t
           where t.key = $1
             and t.id < coalesce((select mine.id from hf.ticket mine where mine.key = $1 and mine.attempt_id = $3), 9223372036854775807)
             and ${placeCounts('t')}
             and not ${waiterDamped('t')}) as ahead,
         (select max(t.id) from hf.ticket t where t.key = $1) as line_end,
         (select f.until
            from hf.flap f
           where f.key = $1
             and f.owner = (select s.owner from hf.session s where s.id = $2)) as flap_until,
         (select m.halted from hf.meta m where m.id = 1) as halted,
         ${LEASE_COLUMNS}
    from (select 1) as always
    left join hf.lease l on l.key = $1`);

type EntryRow = Partial<LeaseRow> & {
  readonly now: number;
  readonly own: SessionJson[] | null;
  readonly holder: SessionJson[] | null;
  readonly ahead: number;
  readonly line_end: number | null;
  readonly flap_until: number | null;
  readonly halted: number | null;
};

export interface EntryView {
  readonly now: Instant;
  readonly own: SessionChain;
  readonly lease: TermView['lease'];
  readonly holder: SessionChain;
  readonly ahead: number;
  /** The last ticket that `ahead` has looked at. */
  readonly lineEnd: number;
  readonly flapUntil: Instant | undefined;
  readonly halted: Fence | undefined;
}

/** Everything that decides whether this session may have this key. */
export async function loadEntry(queries: Queries, request: Acquire): Promise<EntryView> {
  const values = [request.key, request.session, request.attempt];
  const [row] = await queries.rows<EntryRow>(ENTRY, values);
  const flapUntil = row?.flap_until ?? undefined;
  const halted = row?.halted ?? undefined;
  return {
    now: (row?.now ?? 0) as Instant,
    own: toChain(row?.own ?? null),
    lease: leaseIn(row),
    holder: toChain(row?.holder ?? null),
    ahead: row?.ahead ?? 0,
    lineEnd: row?.line_end ?? 0,
    flapUntil: flapUntil as Instant | undefined,
    halted: halted === undefined ? undefined : toFence(halted),
  };
}

/** A row of hf.session as json_agg writes it. */
export interface SessionJson extends Omit<SessionRow, 'path' | 'metadata'> {
  readonly path: readonly string[];
  readonly metadata: object;
}

export function toChain(rows: readonly SessionJson[] | null): readonly SessionRecord[] {
  return (rows ?? []).map((row) =>
    toSession({ ...row, path: JSON.stringify(row.path), metadata: JSON.stringify(row.metadata) }),
  );
}

function leaseIn(row: Partial<LeaseRow> | undefined): TermView['lease'] {
  return typeof row?.key === 'string' ? toLease(row as LeaseRow) : undefined;
}
