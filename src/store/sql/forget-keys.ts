// Keys of limits that nothing uses any more.

import { all, type Gateway, type Script, type Sql, sql, worded } from './script.ts';

// A page of keys of each kind, whether they are in use or not: so much is looked at in one call. One statement:
// every idle process asks.
const PAGES = sql(`
  select *
    from (select 'place' as kind, p.project, p.key
            from hf.place as p
           where (p.project, p.key) > (:placeProject, :placeKey)
           order by p.project, p.key
           limit :limit) as places
   union all
  select *
    from (select 'rate', r.project, r.key
            from hf.rate as r
           where (r.project, r.key) > (:rateProject, :rateKey)
           order by r.project, r.key
           limit :limit) as rates`);

// Who has one of them locked is about to use it.
const LOCK_PLACES = sql(`
  select p.key
    from hf.place as p
   where p.project = :project
     and p.key = any (:keys::text[])
     and p.taken = 0 -- guard: taken
     for update of p skip locked`);

// What is gated will ask for a place, and by the limit that is stored. A statement of its own: what it sees was
// committed before the locks were had, and whoever comes with the key later waits for them.
const FORGET_PLACES = worded(
  { sqlite: 'e.gated = 1', postgres: 'e.gated' },
  (isGated) => `
  delete from hf.place as p
   where p.project = :project
     and p.key = any (:keys::text[])
     and (select e.id from hf.execution as e indexed by execution_gated where ${isGated} and e.place_key is not null and e.project = p.project and e.place_key = p.key limit 1) is null -- guard: gated
  returning 1 as used`,
);

// As a key that was idle for that long: the next turn is the first of a burst.
const LOCK_RATES = sql(`
  select r.key
    from hf.rate as r
   where r.project = :project
     and r.key = any (:keys::text[])
     and r.last_at + r.per_ms <= hf_now() -- guard: idle
     for update of r skip locked`);

// Those at zero were made for somebody who then found no place.
const FORGET_RATES = sql(`
  delete from hf.rate as r
   where r.project = :project
     and r.key = any (:keys::text[])
  returning last_at as used`);

const STATEMENTS: Readonly<Record<Kind, { readonly lock: Sql; readonly forget: Sql }>> = {
  place: { lock: LOCK_PLACES, forget: FORGET_PLACES },
  rate: { lock: LOCK_RATES, forget: FORGET_RATES },
};

type Kind = 'place' | 'rate';

interface Key {
  readonly project: string;
  readonly key: string;
}

/** Before all keys. */
const START: Key = { project: '', key: '' };

/** Goes round, a page of each kind a call. */
export class ForgottenKeys {
  readonly #gateway: Pick<Gateway, 'read' | 'repeat'>;
  /** The last ones that were looked at. */
  readonly #marks: Record<Kind, Key> = { place: START, rate: START };

  constructor(gateway: Pick<Gateway, 'read' | 'repeat'>) {
    this.#gateway = gateway;
  }

  async forgetSome(limit: number): Promise<number> {
    const { place, rate } = this.#marks;
    const found = await this.#gateway.read(() =>
      all<Key & { readonly kind: Kind }>(PAGES, {
        ...{ placeProject: place.project, placeKey: place.key },
        ...{ rateProject: rate.project, rateKey: rate.key, limit },
      }),
    );
    let forgotten = 0;
    for (const kind of ['place', 'rate'] as const) {
      const page = found.filter((each) => each.kind === kind);
      this.#marks[kind] = page.length < limit ? START : (page.at(-1) ?? START);
      if (page.length > 0) forgotten += await this.#gateway.repeat(() => forget(kind, page));
    }
    return forgotten;
  }
}

function* forget(kind: Kind, page: readonly Key[]): Script<number> {
  let forgotten = 0;
  for (const [project, keys] of Map.groupBy(page, (each) => each.project)) {
    const { lock, forget } = STATEMENTS[kind];
    const asked = { project, keys: keys.map(({ key }) => key) };
    const locked = yield* all<{ key: string }>(lock, asked);
    if (locked.length === 0) continue;
    const free = { project, keys: locked.map(({ key }) => key) };
    const rows = yield* all<{ used: number }>(forget, free);
    forgotten += rows.filter(({ used }) => used > 0).length;
  }
  return forgotten;
}
