// How the tables of PostgreSQL differ from what is exported, and how its types become those of an export:
// numbers, text, bytes, null.

import {
  type Differs,
  exportedColumns,
  writtenColumns,
} from '../../../features/export/columns-rows.ts';
import { DEFAULT_POLICY } from '../../../lease/policy.ts';
import { type Queries, statement } from '../database.ts';

export const DIFFERS: Readonly<Record<string, Differs>> = {
  // Says something of the last heartbeat, and no session of a sealed store has another.
  session: { writes: { rejoined: 'false' } },
  // Follows from the other and the policy; the units that are free are two (G-4).
  flap: { writes: { damped_until: `:until - ${2 * DEFAULT_POLICY.flapUnitMs}` } },
};

/** Names and types. */
export type Columns = ReadonlyMap<string, string>;

const FOUND = statement(`
  select a.attname as name, format_type(a.atttypid, null) as type
    from pg_attribute a
   where a.attrelid = to_regclass($1)
     and a.attnum > 0
     and not a.attisdropped
   order by a.attnum`);

export async function foundColumns(
  queries: Queries,
  schema: string,
  table: string,
): Promise<Columns> {
  const rows = await queries.rows<{ name: string; type: string }>(FOUND, [`"${schema}".${table}`]);
  return new Map(rows.map(({ name, type }) => [name, type]));
}

export function columnsOf(table: string, found: Columns): readonly string[] {
  return exportedColumns([...found.keys()], DIFFERS[table]);
}

const READ: Readonly<Record<string, (column: string) => string>> = {
  uuid: (column) => `${column}::text`,
  'uuid[]': (column) => `array_to_json(${column})::text`,
  boolean: (column) => `${column}::integer`,
  jsonb: (column) => `${column}::text`,
};

export function selecting(table: string, found: Columns, columns: readonly string[]): string {
  const { reads = {} } = DIFFERS[table] ?? {};
  const parts = columns.map((name) => {
    const own = READ[found.get(name) ?? '']?.(`t."${name}"`) ?? `t."${name}"`;
    return `${reads[name] ?? own} as "${name}"`;
  });
  return `select ${parts.join(', ')} from hf.${table} t`;
}

/** An insert of so many rows, whose values are numbered row by row in the order of `given`. */
export function inserting(
  table: string,
  {
    found,
    given,
    rows,
  }: { readonly found: Columns; readonly given: readonly string[]; readonly rows: number },
): string {
  const written = writtenColumns([...found.keys()], DIFFERS[table], given);
  const names = written.map(([name]) => `"${name}"`).join(', ');
  const row = (nth: number): string =>
    `(${written.map(([, expression]) => numbered(expression, { found, given, nth })).join(', ')})`;
  const values = Array.from({ length: rows }, (_, nth) => row(nth));
  return `insert into hf.${table} (${names}) values ${values.join(', ')}`;
}

interface Numbering {
  readonly found: Columns;
  readonly given: readonly string[];
  readonly nth: number;
}

function numbered(expression: string, { found, given, nth }: Numbering): string {
  return expression.replaceAll(/(?<!:):([a-z_]+)/g, (_, name: string) => {
    const at = `$${nth * given.length + given.indexOf(name) + 1}`;
    const type = found.get(name) ?? 'text';
    return type === 'uuid[]'
      ? `(select array_agg(p.id::uuid order by p.nth) from json_array_elements_text(${at}::json) with ordinality as p(id, nth))`
      : `${at}::${type}`;
  });
}
