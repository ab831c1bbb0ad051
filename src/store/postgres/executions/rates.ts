// The turns of rate keys. Whoever gives one out has the key's row locked.

import type { RateState } from '../../../execution/decide/gates.ts';
import type { Submission } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import { type Queries, statement } from '../database.ts';
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
         burst_left = u.burst_left
    from unnest($1::text[], $2::text[], $3::bigint[], $4::integer[]) as u(project, key, last_at, burst_left)
   where r.project = u.project
     and r.key = u.key`);

export type RateBook = Map<
  string,
  { readonly project: string; readonly key: string; readonly state: RateState | undefined }
>;

type Rated = Pick<Submission, 'project' | 'rate'>;

export function rateNameOf({ project, rate }: Rated): string {
  return rate === undefined ? '' : JSON.stringify([project, rate.key]);
}

/** Of all these that have a rate key. */
export async function lockRates(
  queries: Queries,
  submissions: readonly Rated[],
): Promise<RateBook> {
  const named = new Map(submissions.map((each) => [rateNameOf(each), each]));
  const wanted = [...named.values()].flatMap(({ project, rate }) =>
    rate === undefined ? [] : [{ project, key: rate.key }],
  );
  if (wanted.length === 0) return new Map();
  const values = [texts(wanted.map(({ project }) => project)), texts(wanted.map(({ key }) => key))];
  await queries.rows(MAKE, values);
  const rows = await queries.rows<{
    project: string;
    key: string;
    last_at: number;
    burst_left: number;
  }>(LOCK, values);
  return new Map(
    rows.map(({ project, key, last_at, burst_left }) => {
      const state = { lastAt: last_at as Instant, left: burst_left };
      const used = last_at === 0 ? undefined : state;
      return [JSON.stringify([project, key]), { project, key, state: used }];
    }),
  );
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
  ]);
}
