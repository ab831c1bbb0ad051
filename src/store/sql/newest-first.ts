import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import { type Dialects, dialects, one, type Script, type Sql } from './script.ts';

export const FIRST_ID = "'00000000-0000-0000-0000-000000000000'::uuid";
export const LAST_ID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid";

export interface NewestFirst {
  readonly select: string;
  readonly table: string;
  /** The column of the list's ids. The list continues below `:before` and ends with `:downTo`. */
  readonly id: string;
  /** A value not greater than any id. By default the smallest UUID. */
  readonly first?: string;
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

export interface Lists {
  readonly list: Sql;
  /** Finds the id down to which one page should look, if there are many rows. */
  readonly edge: Sql;
}

/**
 * Lists newest first by one index and checks the other filters row by row. PostgreSQL compares
 * whole rows, because no other index begins with the same columns. With plain equality, its planner
 * could walk the primary key and read all projects.
 */
export function newestFirst(list: NewestFirst): Lists {
  const { select, id, join, first = FIRST_ID } = list;
  const filters = list.filters.map((filter) => `and ${filter}`).join('\n     ');
  const from = `coalesce(:downTo, ${first})`;
  const found = rowsOf(list, { select, join, from, filters });
  const edge = rowsOf(list, { select: `${id} as id`, from: first });
  const end = `limit 1 offset ${LIST_ROWS_MAX - 1}`;
  return {
    list: dialects({
      sqlite: `${found.sqlite}\n   limit :limit`,
      postgres: `${found.postgres}\n   limit :limit`,
    }),
    edge: dialects({
      sqlite: `${edge.sqlite}\n   ${end}`,
      postgres: `${edge.postgres}\n   ${end}`,
    }),
  };
}

interface Rows {
  readonly select: string;
  readonly join?: string | undefined;
  readonly from: string;
  readonly filters?: string;
}

function rowsOf(
  { table, id, index, lead, last = LAST_ID, where = 'true' }: NewestFirst,
  { select, join = '', from, filters = '' }: Rows,
): Dialects {
  const columns = Object.keys(lead);
  const [of, values] = [columns.join(', '), Object.values(lead).join(', ')];
  const equal = Object.entries(lead).map(([column, value]) => `${column} = ${value}`);
  const order = [...columns, id].map((column) => `${column} desc`).join(', ');
  return {
    sqlite: `
  select ${select}
    from ${table} indexed by ${index} ${join}
   where ${[where, ...equal].join(' and ')}
     and ${id} >= ${from}
     and ${id} < coalesce(:before, ${last})
     ${filters}
   order by ${id} desc`,
    postgres: `
  select ${select}
    from hf.${table} ${join}
   where ${where}
     and (${of}, ${id}) >= (${values}, ${from})
     and (${of}, ${id}) < (${values}, coalesce(:before, ${last}))
     ${filters}
   order by ${order}`,
  };
}

/** Checks of many rows block other requests, so a page ends after some. */
export function* edgeOf<Id>(by: Sql, query: object): Script<Id | undefined> {
  return (yield* one<{ readonly id: Id }>(by, query))?.id;
}

/** The number of filters that a query has. */
export function countGiven(...filters: readonly unknown[]): number {
  return filters.filter((each) => each !== undefined).length;
}

/** Allows any value when the parameter is absent. */
export function ifGiven(column: string, parameter: string): string {
  return `(${parameter}::text is null or coalesce(${column} = ${parameter}, false))`;
}

/** Sorts after every text that begins with the prefix, in the order of code points. */
export function afterPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}
