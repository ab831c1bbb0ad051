import type { Transaction } from '../transaction.ts';

// A page of keys, whether they are in use or not: so much is looked at in one call.
const PLACES = `
  select project, key
    from place
   where (project, key) > (:project, :key)
   order by project, key
   limit :limit`;

const RATES = PLACES.replace('from place', 'from rate');

const PAGE = `
   where (project, key) > (:project, :key)
     and (project, key) <= (:lastProject, :lastKey)`;

// what is gated will ask for a place, and by the limit that is stored.
const FORGET_PLACES = `
  delete from place
   ${PAGE}
     and taken = 0 -- guard: taken
     and not exists (select 1 from execution indexed by execution_gated where execution.gated = 1 and execution.place_key is not null and execution.project = place.project and execution.place_key = place.key) -- guard: gated
`;

// As a key that was idle for that long: the next turn is the first of a burst.
const FORGET_RATES = `
  delete from rate
   ${PAGE}
     and last_at + per_ms <= :now -- guard: idle
`;

/** The last key that was looked at. */
export interface KeyMark {
  readonly project: string;
  readonly key: string;
}

export interface KeyMarks {
  readonly place: KeyMark;
  readonly rate: KeyMark;
}

/** Before all keys. */
const START: KeyMark = { project: '', key: '' };

export const FIRST_KEYS: KeyMarks = { place: START, rate: START };

/** goes round, a page of each kind a call. */
export function forgetKeys(
  tx: Transaction,
  limit: number,
  after: KeyMarks,
): { readonly forgotten: number; readonly marks: KeyMarks } {
  const place = lookAt(tx, { page: PLACES, forget: FORGET_PLACES, limit }, after.place);
  const rate = lookAt(tx, { page: RATES, forget: FORGET_RATES, limit }, after.rate);
  return {
    forgotten: place.forgotten + rate.forgotten,
    marks: { place: place.mark, rate: rate.mark },
  };
}

function lookAt(
  tx: Transaction,
  kind: { readonly page: string; readonly forget: string; readonly limit: number },
  { project, key }: KeyMark,
): { readonly forgotten: number; readonly mark: KeyMark } {
  const { limit } = kind;
  const page = tx.all<KeyMark>(kind.page, { project, key, limit });
  const last = page.at(-1);
  if (last === undefined) return { forgotten: 0, mark: START };
  const [lastProject, lastKey] = [last.project, last.key];
  const forgotten = tx.run(kind.forget, { project, key, lastProject, lastKey, now: tx.now });
  return { forgotten, mark: page.length < limit ? START : last };
}
