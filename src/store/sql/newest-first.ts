import { dialects, type Sql } from './script.ts';

const LAST_ID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'";

export interface NewestFirst {
  readonly select: string;
  readonly table: string;
  /** A uuid. The list goes on before `:before`. */
  readonly id: string;
  /** The index that SQLite is told to take: these columns and then the id. */
  readonly index: string;
  /** The leading columns of PostgreSQL's index and the parameters that they equal. */
  readonly lead: Readonly<Record<string, string>>;
  readonly filters: readonly string[];
  readonly where?: string;
}

/**
 * Newest first, by one index; other filters are checked on the way. PostgreSQL compares rows: no other index begins
 * with the same columns, and equality would let its planner take the primary key for the order and read all projects.
 */
export function newestFirst(list: NewestFirst): Sql {
  const { select, table, id, index, where = 'true' } = list;
  const columns = Object.keys(list.lead);
  const [of, values] = [columns.join(', '), Object.values(list.lead).join(', ')];
  const filters = list.filters.map((filter) => `and ${filter}`).join('\n     ');
  const equal = Object.entries(list.lead).map(([column, value]) => `${column} = ${value}`);
  const order = [...columns, id].map((column) => `${column} desc`).join(', ');
  return dialects({
    sqlite: `
  select ${select}
    from ${table} indexed by ${index}
   where ${[where, ...equal].join(' and ').replaceAll(' collate "POSIX"', '')}
     and ${id} < coalesce(:before, ${LAST_ID})
     ${filters}
   order by ${id} desc
   limit :limit`,
    postgres: `
  select ${select}
    from hf.${table}
   where ${where}
     and (${of}) >= (${values})
     and (${of}, ${id}) < (${values}, coalesce(:before, ${LAST_ID}::uuid))
     ${filters}
   order by ${order}
   limit :limit`,
  });
}

/** Anything when the parameter is absent. */
export function ifGiven(column: string, parameter: string): string {
  return `(${parameter}::text is null or coalesce(${column} = ${parameter}, false))`;
}
