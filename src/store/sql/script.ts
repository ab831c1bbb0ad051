// Verbs off the hot path, written once for both SQL stores. A verb is a generator that yields statements and
// receives their rows. SQLite runs it without a pause inside its flush; PostgreSQL awaits each statement.
//
//   verb ──▶ statement ──▶ sqlite/gateway.ts    in the flush, under the write lock
//     ▲          │         postgres/gateway.ts  in a transaction; the rows that it locks stay locked
//     └── rows ◀─┘
//
// A text is written for PostgreSQL, with parameters by name. `sql` derives what SQLite needs.

/** One dialect's text, and the parameters that it names. */
export interface Text {
  readonly text: string;
  /** In the order of `$1`, `$2` … on PostgreSQL. */
  readonly names: readonly string[];
}

export interface Sql {
  readonly sqlite: Text;
  readonly postgres: Text;
}

/** What a verb yields. Parameters that are absent are null; those that no text names are ignored. */
export interface Asked {
  readonly sql: Sql;
  readonly values: object;
}

/** A function of the store, for work that hot verbs do, too. It gets the transaction. */
export interface Native {
  run(transaction: object): unknown;
}

/** A statement is answered with its rows, a function of the store with what it returns. */
export type Script<Answer> = Generator<Asked | Native, Answer, unknown>;

/** How a store runs scripts that it never repeats by itself. */
export interface PlainGateway {
  read<Answer>(script: () => Script<Answer>): Promise<Answer>;
  /** One transaction. PostgreSQL commits it only if it wrote. */
  write<Answer>(script: () => Script<Answer>): Promise<Answer>;
}

/** How a store runs the scripts of executions. It calls the function again where it repeats a transaction. */
export interface Gateway extends PlainGateway {
  /** As `write`, for a verb that can be repeated: it is, while its outcome is unknown. */
  repeat<Answer>(script: () => Script<Answer>, after?: After<Answer>): Promise<Answer>;
}

/** What follows from the answer of a script. */
export interface After<Answer> {
  /** Whether PostgreSQL commits: a script may insert a row only to lock it. By default it does if it wrote. */
  keeps?(answer: Answer): boolean;
  /** Whether an execution may have become ready, or has ended. */
  rings?(answer: Answer): boolean;
}

/** The row type is what the text selects. */
export function* all<Row>(sql: Sql, values: object = {}): Script<readonly Row[]> {
  return (yield { sql, values }) as readonly Row[];
}

export function* one<Row>(sql: Sql, values: object = {}): Script<Row | undefined> {
  const [row] = yield* all<Row>(sql, values);
  return row;
}

/** Whether a statement that returns what it wrote wrote anything. */
export function* wrote(sql: Sql, values: object): Script<boolean> {
  return (yield* all(sql, values)).length > 0;
}

/** Runs a function of the store in the transaction of the script. */
export function* native<Transaction extends object, Answer>(
  run: (transaction: Transaction) => Answer | Promise<Answer>,
): Script<Answer> {
  return (yield { run }) as Answer;
}

const PARAMETER = /(?<!:):([a-z]\w*)/gi;
const CAST = /::\w+(\[\])?/g;
const LOCK = /\bfor (no key update|key share|update|share)( of \w+)?( skip locked)?/g;
const INDEX = /\bindexed by \w+/g;
const COLLATION = / collate "\w+"/g;
const ROWS = /\bjsonb_to_recordset\((:\w+)::jsonb\) as n\(([^)]+)\)/g;
const LOOK_UP = /== ([:.\w]+)/g;
const LISTED = /= any \((:\w+)\)/g;

/**
 * One text for both. `indexed by` is for SQLite alone; casts, collations and row locks are for PostgreSQL alone. `column == value`
 * leaves PostgreSQL one plan only: it looks the value up in the index of the column (see postgres/predicates.ts).
 * `= any (:list)` compares with the elements of an array; `jsonb_to_recordset(:rows::jsonb) as n(…)` reads rows
 * that are given as JSON.
 */
export function sql(text: string): Sql {
  return dialects({ sqlite: text, postgres: text });
}

/** A statement, or a part of one, for each store. */
export interface Dialects<Words = string> {
  readonly sqlite: Words;
  readonly postgres: Words;
}

/** One text around words that differ. */
export function worded<Words>(words: Dialects<Words>, text: (words: Words) => string): Sql {
  return dialects({ sqlite: text(words.sqlite), postgres: text(words.postgres) });
}

/** For planners that need to be told different things. An empty text is not run: it finds no rows. */
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
  const own = text.replaceAll(INDEX, '').replaceAll(LOOK_UP, '= any (array[$1])');
  const names = namesIn(own);
  const place = (_: string, name: string): string => `$${names.indexOf(name) + 1}`;
  return { text: own.replaceAll(PARAMETER, place), names };
}

function namesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(PARAMETER)].map(([, name = '']) => name))];
}

/** The values that a text names, in its order. */
export function valuesOf({ names }: Text, values: object): readonly unknown[] {
  const given = values as Readonly<Record<string, unknown>>;
  return names.map((name) => given[name] ?? null);
}
