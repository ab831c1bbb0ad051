// Verbs off the hot path, written once for both SQL stores. A verb is a generator that yields
// statements and receives their rows. SQLite runs it without a pause inside its flush; PostgreSQL
// awaits each statement.
//
//   verb ──▶ statement ──▶ sqlite/gateway.ts    in the flush, under the write lock
//     ▲          │         postgres/gateway.ts  in a transaction; the rows that it locks stay locked
//     └── rows ◀─┘
//
// Write each text for PostgreSQL, with named parameters. `sql` derives the text for SQLite.

/** The text for one dialect, and the names of its parameters. */
export interface Text {
  readonly text: string;
  /** In the order of `$1`, `$2` … on PostgreSQL. */
  readonly names: readonly string[];
}

export interface Sql {
  readonly sqlite: Text;
  readonly postgres: Text;
}

/**
 * A statement that a verb yields. Absent parameters become null; the gateway ignores values that
 * the text does not name.
 */
export interface ScriptStatement {
  readonly sql: Sql;
  readonly values: object;
}

/** A function of the store, for work that hot verbs also do. It receives the transaction. */
export interface Native {
  run(transaction: object): unknown;
}

/** A statement returns its rows; a native function returns its own result. */
export type Script<Result> = Generator<ScriptStatement | Native, Result, unknown>;

/** Runs scripts that the store never repeats by itself. */
export interface PlainGateway {
  read<Result>(script: () => Script<Result>): Promise<Result>;
  /** Runs the script in one transaction. PostgreSQL commits only if the script wrote. */
  write<Result>(script: () => Script<Result>): Promise<Result>;
}

/** Runs the scripts of executions. To repeat a transaction, it calls the function again. */
export interface Gateway extends PlainGateway {
  /** Like `write`, for a verb that is safe to repeat. It repeats while the outcome is unknown. */
  repeat<Result>(script: () => Script<Result>, after?: After<Result>): Promise<Result>;
}

/** Decisions that depend on the result of a script. */
export interface After<Result> {
  /**
   * Returns true if PostgreSQL should commit. By default it commits if the script wrote, but a
   * script may insert a row only to lock it.
   */
  keeps?(result: Result): boolean;
  /**
   * Returns true if an execution may have become ready or has ended, so that waiting workers need a
   * wakeup.
   */
  notifies?(result: Result): boolean;
}

/** `Row` must match the columns that the text selects. */
export function* all<Row>(sql: Sql, values: object = {}): Script<readonly Row[]> {
  return (yield { sql, values }) as readonly Row[];
}

export function* one<Row>(sql: Sql, values: object = {}): Script<Row | undefined> {
  const [row] = yield* all<Row>(sql, values);
  return row;
}

/** The rows as records. */
export function* every<Row, Item>(
  sql: Sql,
  values: object,
  to: (row: Row) => Item,
): Script<readonly Item[]> {
  return (yield* all<Row>(sql, values)).map((row) => to(row));
}

/** The row as a record, if there is one. */
export function* found<Row, Item>(
  sql: Sql,
  values: object,
  to: (row: Row) => Item,
): Script<Item | undefined> {
  const [row] = yield* all<Row>(sql, values);
  return row && to(row);
}

/** Returns true if the statement wrote. It must have a `returning` clause. */
export function* wrote(sql: Sql, values: object): Script<boolean> {
  return (yield* all(sql, values)).length > 0;
}

/** Runs a function of the store in the script's transaction. */
export function* native<Transaction extends object, Result>(
  run: (transaction: Transaction) => Result | Promise<Result>,
): Script<Result> {
  return (yield { run }) as Result;
}

const PARAMETER = /(?<!:):([a-z]\w*)/gi;
const CAST = /::\w+(\[\])?/g;
const LOCK = /\bfor (no key update|key share|update|share)( of \w+)?( skip locked)?/g;
const INDEX = /\bindexed by \w+/g;
const COLLATION = / collate "\w+"/g;
const ROWS = /\bjsonb_to_recordset\((:\w+)::jsonb\) as n\(([^)]+)\)/g;
const INDEXED_EQUALS = /== ([:.\w]+)/g;
const LISTED = /= any \((:\w+)\)/g;

/**
 * Makes one text for both stores. `indexed by` applies to SQLite only; casts, collations and row
 * locks to PostgreSQL only. `column == value` leaves PostgreSQL one plan, a lookup in the column's
 * index (see postgres/predicates.ts). `= any (:list)` compares with the elements of an array.
 * `jsonb_to_recordset(:rows::jsonb) as n(…)` reads rows from JSON.
 */
export function sql(text: string): Sql {
  return dialects({ sqlite: text, postgres: text });
}

/** A statement, or a part of one, for each store. */
export interface Dialects<Words = string> {
  readonly sqlite: Words;
  readonly postgres: Words;
}

/** Builds one text around the parts that differ. */
export function sqlPerDialect<Words>(words: Dialects<Words>, text: (words: Words) => string): Sql {
  return dialects({ sqlite: text(words.sqlite), postgres: text(words.postgres) });
}

/**
 * Takes a separate text per store, where the planners need different ones. An empty text does not
 * run and returns no rows.
 */
export function dialects(texts: Dialects): Sql {
  const { sqlite, postgres } = texts;
  return { sqlite: toSqlite(sqlite), postgres: toPostgres(postgres) };
}

function toSqlite(text: string): Text {
  const own = text
    .replaceAll(ROWS, rowsOfJson)
    .replaceAll(CAST, '')
    .replaceAll(COLLATION, '')
    .replaceAll(LOCK, '')
    .replaceAll(LISTED, 'in (select value from json_each($1))')
    .replaceAll(/\bhf\./g, '');
  const filled = own.replaceAll('hf_now()', ':now');
  return { text: filled, names: namesIn(filled) };
}

function rowsOfJson(_: string, rows: string, columns: string): string {
  const names = columns.split(',').map((column) => column.trim().split(' ')[0]);
  const values = names.map((column) => `value ->> '${column}' as ${column}`);
  return `(select ${values.join(', ')} from json_each(${rows})) as n`;
}

function toPostgres(text: string): Text {
  const own = text.replaceAll(INDEX, '').replaceAll(INDEXED_EQUALS, '= any (array[$1])');
  const names = namesIn(own);
  const place = (_: string, name: string): string => `$${names.indexOf(name) + 1}`;
  return { text: own.replaceAll(PARAMETER, place), names };
}

function namesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(PARAMETER)].map(([, name = '']) => name))];
}

/** Returns the values that a text names, in its order. */
export function valuesOf({ names }: Text, values: object): readonly unknown[] {
  const given = values as Readonly<Record<string, unknown>>;
  return names.map((name) => given[name] ?? null);
}
