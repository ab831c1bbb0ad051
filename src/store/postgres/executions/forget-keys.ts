import { persistently } from '../committer.ts';
import { statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { texts } from './arrays.ts';
import type { Parts } from './parts.ts';

// A page of keys of each kind, whether they are in use or not: so much is looked at in one call. One statement:
// every idle process asks.
const PAGES = statement(`
  (select true as is_place, p.project, p.key
     from hf.place p
    where (p.project, p.key) > ($1, $2)
    order by p.project, p.key
    limit $5)
   union all
  (select false, r.project, r.key
     from hf.rate r
    where (r.project, r.key) > ($3, $4)
    order by r.project, r.key
    limit $5)`);

// Who has one of them locked is about to use it.
const LOCK = statement(`
  select p.project, p.key
    from unnest($1::text[], $2::text[]) as u(project, key)
   cross join lateral (
         select p.project, p.key
           from hf.place p
          where p.project = u.project
            and p.key = u.key
            and p.taken = 0 -- guard: taken
            for update of p skip locked
         ) p`);

// what is gated will ask for a place, and by the limit that is stored. A statement of its own: what it
// sees was committed before the locks were had, and whoever comes with the key later waits for them.
const FORGET_PLACES = statement(`
  delete from hf.place p
   using unnest($1::text[], $2::text[]) as u(project, key)
   where ${lookUp('p.project', 'u.project')}
     and p.key = u.key
     and (select e.id from hf.execution e where e.gated and e.place_key is not null and e.project = p.project and e.place_key = p.key limit 1) is null -- guard: gated
  returning p.key`);

// As a key that was idle for that long: the next turn is the first of a burst.
const FORGET_RATES = statement(`
  with idle as materialized (
    select r.project, r.key
      from unnest($1::text[], $2::text[]) as u(project, key)
     cross join lateral (
           select r.project, r.key
             from hf.rate r
            where r.project = u.project
              and r.key = u.key
              and r.last_at + r.per_ms <= hf_now() -- guard: idle
              for update of r skip locked
           ) r
  )
  delete from hf.rate r
   using idle i
   where ${lookUp('r.project', 'i.project')}
     and r.key = i.key
  returning r.last_at`);

interface Key {
  readonly project: string;
  readonly key: string;
}

/** Before all keys. */
const START: Key = { project: '', key: '' };

/** goes round, a page of each kind a call. */
export class ForgottenKeys {
  readonly #parts: Pick<Parts, 'database' | 'surroundings' | 'boundaries'>;
  /** The last ones that were looked at. */
  #place: Key = START;
  #rate: Key = START;

  constructor(parts: Pick<Parts, 'database' | 'surroundings' | 'boundaries'>) {
    this.#parts = parts;
  }

  async forgetSome(limit: number): Promise<number> {
    const { database, boundaries } = this.#parts;
    const after = [...valuesOf(this.#place), ...valuesOf(this.#rate), limit];
    const found = await database.rows<Key & { readonly is_place: boolean }>(PAGES, after);
    const places = found.filter(({ is_place }) => is_place);
    const rates = found.filter(({ is_place }) => !is_place);
    this.#place = places.length < limit ? START : (places.at(-1) ?? START);
    this.#rate = rates.length < limit ? START : (rates.at(-1) ?? START);
    const forgotten = places.length === 0 ? 0 : await this.#forgetPlaces(places);
    if (rates.length === 0) return forgotten;
    const idle = await boundaries.around(() =>
      database.rows<{ last_at: number }>(FORGET_RATES, columnsOf(rates)),
    );
    // Those at zero were made for somebody who then found no place.
    return forgotten + idle.filter(({ last_at }) => last_at > 0).length;
  }

  #forgetPlaces(places: readonly Key[]): Promise<number> {
    const { database, surroundings, boundaries } = this.#parts;
    return persistently(surroundings, () =>
      database.attempt(async (queries) => {
        const locked = await queries.rows<Key & object>(LOCK, columnsOf(places));
        if (locked.length === 0) return { keep: false, result: 0 };
        const { length } = await queries.rows(FORGET_PLACES, columnsOf(locked));
        return { keep: length > 0, result: length };
      }, boundaries),
    );
  }
}

function valuesOf({ project, key }: Key): readonly [string, string] {
  return [project, key];
}

function columnsOf(keys: readonly Key[]): readonly [string, string] {
  return [texts(keys.map(({ project }) => project)), texts(keys.map(({ key }) => key))];
}
