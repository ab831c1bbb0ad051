// The statements that the guards of PostgreSQL and SQLite share. Both databases lock the affected
// rows until the caller's transaction ends, so check and write are one.

import { InvalidInput, StoreUnavailable } from '../support/fault.ts';
import { rejectUnknownOptions, shown } from '../support/options.ts';
import { type Fenced, isObject, refuse, type Stale, staleAt } from './mark.ts';

/** A name as written in SQL: plain or in double quotes, with or without a schema. */
const IDENTIFIER = /^(?:[a-z_]\w*|"[^"]+")$/i;
const QUALIFIED = /^(?:(?:[a-z_]\w*|"[^"]+")\.)?(?:[a-z_]\w*|"[^"]+")$/i;

const DEFAULT_COLUMN = 'fence';

export function tableName(value: string): string {
  if (typeof value === 'string' && QUALIFIED.test(value)) return value;
  throw new InvalidInput(
    `A table must be a name as in SQL, such as app.invoice; got ${shown(value)}.`,
  );
}

function columnName(value: string): string {
  if (typeof value === 'string' && IDENTIFIER.test(value)) return value;
  throw new InvalidInput(
    `A column must be a name as in SQL, such as paid_at; got ${shown(value)}.`,
  );
}

/** Names that differ only in quotes or case may be one column, so they are treated as one. */
function bareName(column: string): string {
  return column.replaceAll('"', '').toLowerCase();
}

/** Formats the n-th parameter of a dialect. */
type Placeholder = (position: number) => string;

export const DOLLAR: Placeholder = (position) => `$${position}`;
export const QUESTION: Placeholder = (position) => `?${position}`;

/** Options of a guard with a table of its own. */
export interface MarkTableOptions {
  /** The table of the marks, as written in SQL. Default `holdfast_fence`. */
  readonly table?: string;
}

export interface MarkStatements {
  readonly table: string;
  readonly createTable: string;
  readonly raise: string;
  readonly read: string;
}

export function markStatements(
  what: string,
  options: MarkTableOptions,
  placeholder: Placeholder,
): MarkStatements {
  rejectUnknownOptions(what, options, ['table']);
  const { table = 'holdfast_fence' } = options;
  const name = tableName(table);
  return {
    table,
    createTable: `
create table if not exists ${name} (
  resource text primary key,
  fence    bigint not null
)`,
    // One statement locks, compares and raises. It returns no row exactly when the fence is stale.
    raise: `
insert into ${name} as kept (resource, fence)
values (${placeholder(1)}, ${placeholder(2)})
on conflict (resource) do update
   set fence = excluded.fence
 where kept.fence <= excluded.fence
returning fence`,
    read: `select fence from ${name} where resource = ${placeholder(1)}`,
  };
}

/** The codes of a missing table, in PostgreSQL and in MySQL. */
const UNDEFINED_TABLE: readonly unknown[] = ['42P01', 'ER_NO_SUCH_TABLE'];

/** Returns the error to throw: if the mark table is missing, one that names the next step. */
export function withNextStep(
  error: unknown,
  { table, owner }: { readonly table: string; readonly owner: 'guard' | 'marks' },
): unknown {
  const isMissing =
    error instanceof Error &&
    (('code' in error && UNDEFINED_TABLE.includes(error.code)) ||
      /^no such table/.test(error.message));
  if (!isMissing) return error;
  return new StoreUnavailable(
    `The table ${table} for marks does not exist. Nothing was written. ` +
      `Run ${owner}.createTable once, in your migration.`,
    { cause: error },
  );
}

/** Rows of your own that have their mark in a column. */
export interface RowGuardOptions {
  /** The table, as written in SQL: `invoice`, `app.invoice`, `"Invoice"`. */
  readonly table: string;
  /** The column of the mark: `bigint not null default 0`. Default `fence`. */
  readonly column?: string;
}

export type RowGuardConfig = Required<RowGuardOptions>;

export function parseRowOptions(what: string, options: RowGuardOptions): RowGuardConfig {
  rejectUnknownOptions(what, options, ['table', 'column']);
  const { table, column = DEFAULT_COLUMN } = options;
  if (table === undefined) {
    const need = `${what}: \`table\` names the table of your rows`;
    refuse(table, { what: need, pass: `new ${what}({ table: 'invoice' })` });
  }
  return { table: tableName(table), column: columnName(column) };
}

/** Selects rows by equality of every given column, usually the primary key. */
export type Where<Value> = Readonly<Record<string, Value>>;

interface RowStatement<Value> {
  readonly text: string;
  readonly values: Value[];
}

/** A change of rows. */
export interface RowChange<Value> {
  /** New values by column. */
  readonly set: Readonly<Record<string, Value>>;
  /** Which rows. */
  readonly where: Where<Value>;
}

/** Checks that only `set` and `where` are given. The statements check their contents. */
export function checkChange(what: string, change: RowChange<unknown>): void {
  rejectUnknownOptions(what, change, ['set', 'where']);
  if (isObject(change.set)) return;
  const need = `${what}: \`set\` has the new value of each column`;
  refuse(change.set, { what: need, pass: "{ set: { state: 'paid' }, where: { id } }" });
}

/** Builds `update invoice set state = $1, fence = $2 where id = $3 and fence <= $2`. */
export function rowUpdate<Value>(
  { table, column: mark }: RowGuardConfig,
  placeholder: Placeholder,
  { set, where, fence }: RowChange<Value> & { readonly fence: Value },
): RowStatement<Value> {
  const values: Value[] = [];
  const bind = (value: Value) => placeholder(values.push(value));
  if (Object.keys(set).some((name) => bareName(name) === bareName(mark))) {
    throw new InvalidInput(
      `The column ${mark} holds the mark, and only the guard writes it. Nothing was sent. Leave it out.`,
    );
  }
  const assignments = Object.entries(set).map(([name, value]) => {
    if (value !== undefined) return `${columnName(name)} = ${bind(value)}`;
    throw new InvalidInput(
      `\`set.${name}\` is undefined. Nothing was sent. Leave it out, or pass null to clear it.`,
    );
  });
  const bound = bind(fence);
  const text =
    `update ${table} set ${[...assignments, `${mark} = ${bound}`].join(', ')} ` +
    `where ${conditions(where, bind)} and ${mark} <= ${bound}`;
  return { text, values };
}

/** Reads the highest mark of the rows. Null if there are no rows. */
export function rowMark<Value>(
  { table, column }: RowGuardConfig,
  placeholder: Placeholder,
  where: Where<Value>,
): RowStatement<Value> {
  const values: Value[] = [];
  const bind = (value: Value) => placeholder(values.push(value));
  const text = `select max(${column}) as fence from ${table} where ${conditions(where, bind)}`;
  return { text, values };
}

function conditions<Value>(where: Where<Value>, bind: (value: Value) => string): string {
  if (!isObject(where)) {
    const what = '`where` must name the row by the values of its columns';
    refuse(where, { what, pass: "an object such as { id: 'invoice-7' }" });
  }
  const found = Object.entries(where).map(([name, value]) => {
    if (value !== undefined && value !== null) return `${columnName(name)} = ${bind(value)}`;
    throw new InvalidInput(
      `\`where.${name}\` is ${value}, which matches no row. Nothing was sent. Pass a value.`,
    );
  });
  if (found.length === 0) {
    throw new InvalidInput(
      '`where` needs at least one column. Nothing was sent. Name the row by its key.',
    );
  }
  return found.join(' and ');
}

/**
 * The result of a write.
 *
 * - `written`: `rows` rows were changed.
 * - `missing`: no row matches, so nothing was written.
 * - `stale`: a later holder has shown a greater fence. Nothing was written.
 */
export type RowResult =
  | { readonly kind: 'written'; readonly rows: number }
  | { readonly kind: 'missing' }
  | Stale;

/**
 * Explains an update that changed nothing. `mark` is the highest mark of the rows, or null without
 * rows.
 */
export function unchanged(presented: Fenced, mark: unknown): RowResult {
  if (mark === null || Number(mark) <= presented.fence) return { kind: 'missing' };
  return staleAt(presented, mark);
}
