// The statements that the guards of PostgreSQL and SQLite share. Both databases lock what the
// statement touched until the caller's transaction ends; that is what makes check and write one.

import { InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';
import type { Stale } from './mark.ts';

/** A name as it is written in SQL: plain or in double quotes, with or without a schema. */
const IDENTIFIER = /^(?:[a-z_]\w*|"[^"]+")$/i;
const QUALIFIED = /^(?:(?:[a-z_]\w*|"[^"]+")\.)?(?:[a-z_]\w*|"[^"]+")$/i;

export const DEFAULT_TABLE = 'holdfast_fence';
export const DEFAULT_COLUMN = 'fence';

export function tableName(value: string): string {
  if (QUALIFIED.test(value)) return value;
  throw new InvalidInput(`A table is named as in SQL, such as app.invoice; got ${shown(value)}.`);
}

export function columnName(value: string): string {
  if (IDENTIFIER.test(value)) return value;
  throw new InvalidInput(`A column is named as in SQL, such as paid_at; got ${shown(value)}.`);
}

/** How a dialect writes its n-th parameter. */
export type Placeholder = (position: number) => string;

export const DOLLAR: Placeholder = (position) => `$${position}`;
export const QUESTION: Placeholder = (position) => `?${position}`;

export interface MarkStatements {
  readonly createTable: string;
  readonly raise: string;
  readonly read: string;
}

export function markStatements(table: string, placeholder: Placeholder): MarkStatements {
  const name = tableName(table);
  return {
    createTable: `
create table if not exists ${name} (
  resource text primary key,
  fence    bigint not null
)`,
    // One statement locks, compares and raises. No row comes back exactly when the fence is stale.
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

/** Rows of the user's own that carry their mark in a column. */
export interface RowGuardOptions {
  /** As written in SQL: `invoice`, `app.invoice`, `"Invoice"`. */
  readonly table: string;
  /** The column that holds the mark: `bigint not null default 0`. Default `fence`. */
  readonly column?: string;
}

/** Which rows: column = value, for every column given. The primary key, as a rule. */
export type Where<Value> = Readonly<Record<string, Value>>;

export interface RowStatement<Value> {
  readonly text: string;
  readonly values: Value[];
}

export interface RowChange<Value> {
  readonly set: Readonly<Record<string, Value>>;
  readonly where: Where<Value>;
}

/** `update invoice set state = $1, fence = $2 where id = $3 and fence <= $2` */
export function rowUpdate<Value>(
  { table, column = DEFAULT_COLUMN }: RowGuardOptions,
  placeholder: Placeholder,
  { set, where, fence }: RowChange<Value> & { readonly fence: Value },
): RowStatement<Value> {
  const mark = columnName(column);
  const values: Value[] = [];
  const bind = (value: Value) => placeholder(values.push(value));
  const assignments = Object.entries(set).map(
    ([name, value]) => `${columnName(name)} = ${bind(value)}`,
  );
  const bound = bind(fence);
  const text =
    `update ${tableName(table)} set ${[...assignments, `${mark} = ${bound}`].join(', ')} ` +
    `where ${conditions(where, bind)} and ${mark} <= ${bound}`;
  return { text, values };
}

/** The highest mark of the rows, and none when there are no rows. */
export function rowMark<Value>(
  { table, column = DEFAULT_COLUMN }: RowGuardOptions,
  placeholder: Placeholder,
  where: Where<Value>,
): RowStatement<Value> {
  const values: Value[] = [];
  const bind = (value: Value) => placeholder(values.push(value));
  const text =
    `select max(${columnName(column)}) as fence from ${tableName(table)} ` +
    `where ${conditions(where, bind)}`;
  return { text, values };
}

function conditions<Value>(where: Where<Value>, bind: (value: Value) => string): string {
  const found = Object.entries(where).map(
    ([name, value]) => `${columnName(name)} = ${bind(value)}`,
  );
  if (found.length === 0) {
    throw new InvalidInput('Say which row: `where` needs at least one column. Nothing was sent.');
  }
  return found.join(' and ');
}

export type RowAnswer =
  | { readonly kind: 'written'; readonly rows: number }
  /** No row matches: there is nothing that could hold a mark. */
  | { readonly kind: 'missing' }
  | Stale;
