// The turns of rate keys. A transaction locks the key's row before it hands out a turn.

import { type RateState, withStarts } from '../../../execution/decide/gates.ts';
import type { Submission } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import { type Queries, statement } from '../database.ts';
import { equalsByIndex } from '../predicates.ts';
import { numbers, texts, uuids } from './arrays.ts';

// Time 0 means that the key was never used.
const MAKE = statement(`
  insert into hf.rate (project, key, last_at, burst_left)
  select u.project, u.key, 0, 0
    from unnest($1::text[], $2::text[]) as u(project, key)
      on conflict (project, key) do nothing`);

const LOCK = statement(`
  select r.project, r.key, r.last_at, r.burst_left, r.per_ms, r.starts, r.late
    from (select u.project, u.key from unnest($1::text[], $2::text[]) as u(project, key) order by u.project collate "C", u.key collate "C") u
   cross join lateral (
         select r.*
           from hf.rate r
          where r.project = u.project
            and r.key = u.key
            for no key update of r
         ) r`);

const SET = statement(`
  update hf.rate r
     set last_at    = u.last_at,
         burst_left = u.burst_left,
         per_ms     = u.per_ms,
         starts     = u.starts,
         late       = u.late
    from unnest($1::text[], $2::text[], $3::bigint[], $4::integer[], $5::bigint[], $6::text[], $7::integer[]) as u(project, key, last_at, burst_left, per_ms, starts, late)
   where ${equalsByIndex('r.project', 'u.project')}
     and r.key = u.key`);

interface RateEntry {
  readonly project: string;
  readonly key: string;
  readonly state: RateState | undefined;
}

export type RateBook = Map<string, RateEntry>;

type Rated = Pick<Submission, 'project' | 'rate'>;

export function rateNameOf({ project, rate }: Rated): string {
  return rate === undefined ? '' : JSON.stringify([project, rate.key]);
}

/** Locks the rate keys of all these submissions. */
export async function lockRates(
  queries: Queries,
  submissions: readonly Rated[],
): Promise<RateBook> {
  const named = new Map<string, RateEntry>();
  for (const submission of submissions) {
    const { project, rate } = submission;
    if (rate === undefined) continue;
    named.set(rateNameOf(submission), { project, key: rate.key, state: undefined });
  }
  const wanted = [...named.values()];
  if (wanted.length === 0) return named;
  const values = [texts(wanted.map(({ project }) => project)), texts(wanted.map(({ key }) => key))];
  for (;;) {
    await queries.rows(MAKE, values);
    const rows = await queries.rows<RateRow & object>(LOCK, values);
    // Maintenance may have deleted an existing key in between. The next round inserts and
    // locks it.
    if (rows.length < wanted.length) continue;
    for (const row of rows) noteState(named, row);
    return named;
  }
}

interface RateRow {
  readonly project: string;
  readonly key: string;
  readonly last_at: number;
  readonly burst_left: number;
  readonly per_ms: number;
  readonly starts: string;
  readonly late: number;
}

function noteState(book: RateBook, row: RateRow): void {
  const { project, key, burst_left: left, per_ms: perMs, late } = row;
  // The key was inserted and never used.
  if (row.last_at === 0) return;
  const lastAt = row.last_at as Instant;
  const state = { lastAt, left, perMs, starts: JSON.parse(row.starts), late };
  book.set(JSON.stringify([project, key]), { project, key, state });
}

export async function saveRates(queries: Queries, book: RateBook): Promise<void> {
  const used = [...book.values()].flatMap(({ project, key, state }) =>
    state === undefined ? [] : [{ project, key, state }],
  );
  if (used.length === 0) return;
  await queries.rows(SET, [
    texts(used.map(({ project }) => project)),
    texts(used.map(({ key }) => key)),
    numbers(used.map(({ state }) => state.lastAt)),
    numbers(used.map(({ state }) => state.left)),
    numbers(used.map(({ state }) => state.perMs)),
    texts(used.map(({ state }) => JSON.stringify(state.starts))),
    numbers(used.map(({ state }) => state.late)),
  ]);
}

const PUT_BACK = statement(`
  update hf.execution e
     set gated     = true,
         has_place = true
   where e.id = any ($1::uuid[])`);

/** A claimed execution. */
export interface Started {
  readonly id: string;
  readonly claimed_at: number;
}

/**
 * Stores the starts of claimed executions under their rate keys, by the times in history.
 * Those that were to start but were not claimed have not started. Returns true if there were any.
 */
export async function saveStarts(
  queries: Queries,
  {
    rates,
    before,
    starting,
    claimed,
  }: {
    readonly rates: RateBook;
    /** The states at the time of the lock. */
    readonly before: RateBook;
    readonly starting: ReadonlyMap<string, string>;
    readonly claimed: readonly Started[];
  },
): Promise<boolean> {
  const claimedAt = new Map(claimed.map(({ id, claimed_at }) => [id, claimed_at as Instant]));
  const left = [...starting.keys()].filter((id) => !claimedAt.has(id));
  if (left.length > 0) await queries.rows(PUT_BACK, [uuids(left)]);
  for (const [name, entry] of rates) {
    if (entry.state === undefined) continue;
    const { late } = entry.state;
    const { starts = [] } = before.get(name)?.state ?? {};
    const times = [...starting].flatMap(([id, of]) =>
      of === name ? (claimedAt.get(id) ?? []) : [],
    );
    const started = withStarts(
      { ...entry.state, starts },
      times[0] ?? (0 as Instant),
      times.length,
    );
    rates.set(name, { ...entry, state: { ...started, late } });
  }
  await saveRates(queries, rates);
  return left.length > 0;
}
