import { dialects, type Sql } from './script.ts';

const LAST_ID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid";

export interface NewestFirst {
  readonly select: string;
  readonly table: string;
  /** The column of the list's ids. The list continues below `:before`. */
  readonly id: string;
  /** A value greater than every id. By default the greatest UUID. */
  readonly last?: string;
  /** Joins to other tables. */
  readonly join?: string;
  /** The index that SQLite must use: the leading columns, then the id. */
  readonly index: string;
  /** The leading columns of PostgreSQL's index, and the parameters that they must equal. */
  readonly lead: Readonly<Record<string, string>>;
  readonly filters: readonly string[];
  readonly where?: string;
}

/**
 * Lists newest first by one index and checks the other filters row by row. PostgreSQL compares
 * whole rows, because no other index begins with the same columns. With plain equality, its planner
 * could walk the primary key and read all projects.
 */
export function newestFirst(list: NewestFirst): Sql {
  const { select, table, id, index, last = LAST_ID, join = '', where = 'true' } = list;
  const columns = Object.keys(list.lead);
  const [of, values] = [columns.join(', '), Object.values(list.lead).join(', ')];
  const filters = list.filters.map((filter) => `and ${filter}`).join('\n     ');
  const equal = Object.entries(list.lead).map(([column, value]) => `${column} = ${value}`);
  const order = [...columns, id].map((column) => `${column} desc`).join(', ');
  return dialects({
    sqlite: `
  select ${select}
    from ${table} indexed by ${index} ${join}
   where ${[where, ...equal].join(' and ')}
     and ${id} < coalesce(:before, ${last})
     ${filters}
   order by ${id} desc
   limit :limit`,
    postgres: `
  select ${select}
    from hf.${table} ${join}
   where ${where}
     and (${of}) >= (${values})
     and (${of}, ${id}) < (${values}, coalesce(:before, ${last}))
     ${filters}
   order by ${order}
   limit :limit`,
  });
}

/** Allows any value when the parameter is absent. */
export function ifGiven(column: string, parameter: string): string {
  return `(${parameter}::text is null or coalesce(${column} = ${parameter}, false))`;
}
