// Exports the rows of a sealed schema and imports rows. It maps PostgreSQL's tables and types to
// the exported format: numbers, text, bytes, null.

import type { ClientBase } from 'pg';
import type {
  Cell,
  Dumped,
  ExportedRows,
  Load,
  LoadResult,
} from '../../../features/export/port.ts';
import {
  type Counters,
  type Differs,
  EXPORTED_TABLES,
  exportedColumns,
  notSealedFault,
  refuseUnknown,
  rowsAtOnce,
  writtenColumns,
} from '../../../features/export/rows.ts';
import { DEFAULT_POLICY } from '../../../lease/policy.ts';
import { type Database, type Queries, statement } from '../database.ts';
import { liftFences } from '../recover.ts';
import { lockAll, readSeal, refuseSealed } from './seal.ts';

const DIFFERS: Readonly<Record<string, Differs>> = {
  // The column describes the last heartbeat, and a sealed store receives none.
  session: { writes: { rejoined: 'false' } },
  // The column follows from `until` and the policy: two units are free (G-4).
  flap: { writes: { damped_until: `:until - ${2 * DEFAULT_POLICY.flapUnitMs}` } },
};

/** Column names and their types. */
type Columns = ReadonlyMap<string, string>;

const FOUND = statement(`
  select a.attname as name, format_type(a.atttypid, null) as type
    from pg_attribute a
   where a.attrelid = to_regclass($1)
     and a.attnum > 0
     and not a.attisdropped
   order by a.attnum`);

async function foundColumns(queries: Queries, schema: string, table: string): Promise<Columns> {
  const rows = await queries.rows<{ name: string; type: string }>(FOUND, [`"${schema}".${table}`]);
  return new Map(rows.map(({ name, type }) => [name, type]));
}

function columnsOf(table: string, found: Columns): readonly string[] {
  return exportedColumns([...found.keys()], DIFFERS[table]);
}

const READ: Readonly<Record<string, (column: string) => string>> = {
  uuid: (column) => `${column}::text`,
  'uuid[]': (column) => `array_to_json(${column})::text`,
  boolean: (column) => `${column}::integer`,
  jsonb: (column) => `${column}::text`,
};

function selecting(table: string, found: Columns, columns: readonly string[]): string {
  const { reads = {} } = DIFFERS[table] ?? {};
  const parts = columns.map((name) => {
    const own = READ[found.get(name) ?? '']?.(`t."${name}"`) ?? `t."${name}"`;
    return `${reads[name] ?? own} as "${name}"`;
  });
  return `select ${parts.join(', ')} from hf.${table} t`;
}

/** Builds an insert for this many rows. Values are numbered row by row in the order of `given`. */
function inserting(
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

// Export ---------------------------------------------------------------------------------------

// Nothing changes after the seal. The snapshot protects a reader while another process unseals the
// store.
const ONE_MOMENT = statement('set transaction isolation level repeatable read, read only');

// The reader of the rows may be slow. It holds no lock that another process needs, because the
// store is sealed.
const DISABLE_IDLE_TIMEOUT = statement(
  `select set_config('idle_in_transaction_session_timeout', '0', true)`,
);

const COUNTERS = statement(`
  select (select case when f.is_called then f.last_value else f.last_value - 1 end from hf.fence f) as "fence",
         m.halted as "halted",
         (select case when s.is_called then s.last_value else 0 end from hf.event_seq s) as "eventSeq",
         m.events_deleted as "eventsDeleted"
    from hf.meta m
   where m.id = 1`);

interface Schema {
  readonly database: Database;
  readonly schema: string;
}

export async function dump<Result>(
  { database, schema }: Schema,
  visit: (dumped: Dumped) => Promise<Result>,
): Promise<Result> {
  return database.attempt(async (queries, client) => {
    await queries.rows(ONE_MOMENT, []);
    await queries.rows(DISABLE_IDLE_TIMEOUT, []);
    const seal = await readSeal(queries);
    const [counters] = await queries.rows<Omit<Counters, 'clockAt'>>(COUNTERS, []);
    if (seal === undefined || counters === undefined) throw notSealedFault();
    const rows = rowsOf(queries, { client, database, schema });
    const result = await visit({ seal, counters: { ...counters, clockAt: seal.at }, rows });
    return { keep: false, result };
  });
}

async function* rowsOf(
  queries: Queries,
  { client, database, schema }: Schema & { readonly client: ClientBase },
): AsyncGenerator<ExportedRows> {
  for (const exported of EXPORTED_TABLES) {
    const { name: table } = exported;
    const count = rowsAtOnce(exported);
    const found = await foundColumns(queries, schema, table);
    const columns = columnsOf(table, found);
    const select = database.fill(selecting(table, found, columns));
    await client.query(`declare exported no scroll cursor for ${select}`);
    for (let isMore = true; isMore; ) {
      const text = `fetch ${count} from exported`;
      const { rows } = await client.query<Cell[]>({ text, rowMode: 'array' });
      isMore = rows.length === count;
      yield { table, columns, rows };
    }
    await client.query('close exported');
  }
}

// Import ---------------------------------------------------------------------------------------

/** PostgreSQL accepts at most 65,535 parameters per statement. */
const VALUES_MAX = 60_000;

const NOT_EMPTY = statement(
  EXPORTED_TABLES.map(
    ({ name }) => `select '${name}' as name where exists (select from hf.${name})`,
  ).join(' union all '),
);

// `setval` is not transactional and need not be: a rollback leaves a gap.
const LIFT = statement(`
  select setval('hf.fence', greatest($1::bigint, case when f.is_called then f.last_value else f.last_value - 1 end), true)
    from hf.fence f
   where $1 > f.last_value`);

const EVENTS_GO_ON = statement(`
  with told as (
    select setval('hf.event_seq', $1::bigint, true)
     where $1 > 0
  )
  update hf.meta m
     set events_deleted = $2
   where m.id = 1
     and (select count(*) from told) >= 0`);

/** Everything happens in one transaction (EX-8). */
export async function load({ database, schema }: Schema, request: Load): Promise<LoadResult> {
  return database.attempt<LoadResult>(async (queries) => {
    await refuseSealed(queries);
    await lockAll(queries);
    const full = await queries.rows<{ name: string }>(NOT_EMPTY, []);
    if (full.length > 0) {
      const tables = full.map(({ name }) => name);
      return { keep: false, result: { kind: 'refused', why: 'not-empty', tables } };
    }
    for await (const exported of request.rows) await insert(queries, schema, exported);
    return { keep: true, result: { kind: 'loaded', epoch: await goOn(queries, request) } };
  });
}

async function insert(queries: Queries, schema: string, exported: ExportedRows): Promise<void> {
  const { table, columns: given, rows } = exported;
  const found: Columns = EXPORTED_TABLES.some(({ name }) => name === table)
    ? await foundColumns(queries, schema, table)
    : new Map();
  refuseUnknown(table, given, found.size === 0 ? undefined : columnsOf(table, found));
  const rowsMax = Math.max(1, Math.floor(VALUES_MAX / given.length));
  for (let from = 0; from < rows.length; from += rowsMax) {
    const some = rows.slice(from, from + rowsMax);
    const text = inserting(table, { found, given, rows: some.length });
    await queries.rows(
      statement(text),
      some.flat().map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell) : cell)),
    );
  }
}

/** Continues above every fence of the old store (T-3). Event numbers continue too. */
async function goOn(queries: Queries, request: Load): Promise<number> {
  const { counters, actor, reason } = request;
  await queries.rows(LIFT, [Math.max(counters.fence, counters.halted ?? 0)]);
  await queries.rows(EVENTS_GO_ON, [counters.eventSeq, counters.eventsDeleted]);
  return liftFences(queries, { actor, reason, endHalt: true });
}
