// The turns of rate keys. Whoever gives one out has the key's row locked.

import type { RateState } from '../../../execution/decide/gates.ts';
import type { Submission } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import { type Queries, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { numbers, texts } from './arrays.ts';

// Idle since for ever: the next turn is that of a key that was never used.
const MAKE = statement(`
  insert into hf.rate (project, key, last_at, burst_left)
  select u.project, u.key, 0, 0
    from unnest($1::text[], $2::text[]) as u(project, key)
      on conflict (project, key) do nothing`);

const LOCK = statement(`
  select r.project, r.key, r.last_at, r.burst_left
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
         per_ms     = greatest(r.per_ms, u.per_ms)
    from unnest($1::text[], $2::text[], $3::bigint[], $4::integer[], $5::bigint[]) as u(project, key, last_at, burst_left, per_ms)
   where ${lookUp('r.project', 'u.project')}
     and r.key = u.key`);

interface RateEntry {
  readonly project: string;
  readonly key: string;
  /** The longest of those that ask for a turn now. */
  readonly perMs: number;
  readonly state: RateState | undefined;
}

export type RateBook = Map<string, RateEntry>;

type Rated = Pick<Submission, 'project' | 'rate'>;

export function rateNameOf({ project, rate }: Rated): string {
  return rate === undefined ? '' : JSON.stringify([project, rate.key]);
}

/** Of all these that have a rate key. */
export async function lockRates(
  queries: Queries,
  submissions: readonly Rated[],
): Promise<RateBook> {
  const named = new Map<string, RateEntry>();
  for (const submission of submissions) {
    const { project, rate } = submission;
    if (rate === undefined) continue;
    const name = rateNameOf(submission);
    const perMs = Math.max(rate.perMs, named.get(name)?.perMs ?? 0);
    named.set(name, { project, key: rate.key, perMs, state: undefined });
  }
  const wanted = [...named.values()];
  if (wanted.length === 0) return named;
  const values = [texts(wanted.map(({ project }) => project)), texts(wanted.map(({ key }) => key))];
  for (;;) {
    await queries.rows(MAKE, values);
    const rows = await queries.rows<RateRow & object>(LOCK, values);
    // One that was there may have been forgotten in between; what is made now is ours.
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
}

function noteState(book: RateBook, { project, key, last_at, burst_left }: RateRow): void {
  const name = JSON.stringify([project, key]);
  const entry = book.get(name);
  // Made and never used.
  if (entry === undefined || last_at === 0) return;
  book.set(name, { ...entry, state: { lastAt: last_at as Instant, left: burst_left } });
}

export async function saveRates(queries: Queries, book: RateBook): Promise<void> {
  const used = [...book.values()].flatMap(({ project, key, perMs, state }) =>
    state === undefined ? [] : [{ project, key, perMs, state }],
  );
  if (used.length === 0) return;
  await queries.rows(SET, [
    texts(used.map(({ project }) => project)),
    texts(used.map(({ key }) => key)),
    numbers(used.map(({ state }) => state.lastAt)),
    numbers(used.map(({ state }) => state.left)),
    numbers(used.map(({ perMs }) => perMs)),
  ]);
}
