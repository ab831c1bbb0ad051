// Exports the rows of a sealed file and imports rows. It maps SQLite's tables to the exported
// format.

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
import { epochOf, raisedOrigin } from '../../../lease/fence.ts';
import type { Clock } from '../../../support/clock.ts';
import type { Connection, Parameters } from '../connection.ts';
import { readSeal } from './seal.ts';

const DIFFERS: Readonly<Record<string, Differs>> = {
  // Inputs have a table of their own. Row ids are internal to SQLite.
  execution: {
    reads: { input: '(select input.input from input where input.row_id = execution.row_id)' },
    writes: { row_id: 'null' },
    also: 'insert into input (row_id, input) values (last_insert_rowid(), :input)',
  },
  history: {
    reads: {
      execution_id: '(select execution.id from execution where execution.row_id = history.row_id)',
    },
    writes: { row_id: '(select row_id from execution where id = :execution_id)' },
  },
  rate: { reads: { burst_left: 'burst' }, writes: { burst: ':burst_left' } },
  errand: {
    reads: { after_id: "nullif(after_id, '')" },
    writes: { after_id: "coalesce(:after_id, '')" },
  },
  job_item: { reads: { target_id: 'target' }, writes: { target: ':target_id' } },
  // Kinds 0 and 1 are text, 2 is a number, 3 a boolean.
  label: {
    reads: {
      value: "case kind when 2 then null when 3 then iif(value, 'true', 'false') else value end",
      number: 'case kind when 2 then value end',
    },
    writes: { value: "case :kind when 2 then :number when 3 then :value = 'true' else :value end" },
  },
};

function found(connection: Connection, table: string): readonly string[] {
  const rows = connection.all<{ name: string }>('select name from pragma_table_info(:table)', {
    table,
  });
  return rows.map(({ name }) => name);
}

function columnsOf(connection: Connection, table: string): readonly string[] | undefined {
  const columns = found(connection, table);
  return columns.length === 0 ? undefined : exportedColumns(columns, DIFFERS[table]);
}

function selecting(table: string, columns: readonly string[]): string {
  const { reads = {} } = DIFFERS[table] ?? {};
  const parts = columns.map((name) => `${reads[name] ?? `${table}."${name}"`} as "${name}"`);
  return `select ${parts.join(', ')} from ${table}`;
}

function inserting(
  connection: Connection,
  table: string,
  given: readonly string[],
): readonly string[] {
  const written = writtenColumns(found(connection, table), DIFFERS[table], given);
  const names = written.map(([name]) => `"${name}"`).join(', ');
  const values = written.map(([, expression]) => expression).join(', ');
  const { also } = DIFFERS[table] ?? {};
  const insert = `insert into ${table} (${names}) values (${values})`;
  return also === undefined ? [insert] : [insert, also];
}

// Export ---------------------------------------------------------------------------------------

const COUNTERS = `
  select meta.fence, meta.halted, meta.clock_at as clockAt,
         coalesce((select seq from sqlite_sequence where name = 'event'), 0) as eventSeq,
         coalesce((select min(seq) - 1 from event),
                  (select seq from sqlite_sequence where name = 'event'), 0) as eventsDeleted
    from meta
   where meta.id = 1`;

/** The connection must have no other user. */
export async function dump<Result>(
  connection: Connection,
  visit: (dumped: Dumped) => Promise<Result>,
): Promise<Result> {
  connection.execute('begin');
  try {
    const seal = readSeal(connection);
    const counters = connection.get<Counters>(COUNTERS);
    if (seal === undefined || counters === undefined) throw notSealedFault();
    return await visit({ seal, counters: { ...counters }, rows: rowsOf(connection) });
  } finally {
    connection.undo();
  }
}

async function* rowsOf(connection: Connection): AsyncGenerator<ExportedRows> {
  for (const exported of EXPORTED_TABLES) {
    const { name: table } = exported;
    const columns = columnsOf(connection, table) ?? [];
    let rows: (readonly Cell[])[] = [];
    const statement = connection.arrays<readonly Cell[]>(selecting(table, columns));
    for (const row of statement.iterate()) {
      rows.push(row);
      if (rows.length < rowsAtOnce(exported)) continue;
      yield { table, columns, rows };
      rows = [];
    }
    yield { table, columns, rows };
  }
}

// Import ---------------------------------------------------------------------------------------

const META = 'select fence, halted, clock_at as clockAt from meta where id = 1';

const GO_ON = `
  update meta
     set fence = :fence,
         halted = null,
         clock_at = :now
   where id = 1`;

const FORGET_SEQ = "delete from sqlite_sequence where name = 'event'";
const KEEP_SEQ = "insert into sqlite_sequence (name, seq) values ('event', :seq)";

const RECORD_MOVE = `
  insert into event (at, kind, detail)
  values (:now, 'epoch-raised', json_object('actor', :actor, 'cause', :reason))`;

/** The connection must have no other user. Everything happens in one transaction (EX-8). */
export async function load(
  connection: Connection,
  clock: Clock,
  request: Load,
): Promise<LoadResult> {
  connection.execute('begin immediate');
  try {
    const tables = notEmpty(connection);
    if (tables.length > 0) return { kind: 'refused', why: 'not-empty', tables };
    for await (const exported of request.rows) insert(connection, exported);
    const epoch = goOn(connection, clock, request);
    connection.execute('commit');
    return { kind: 'loaded', epoch };
  } finally {
    connection.undo();
  }
}

function notEmpty(connection: Connection): readonly string[] {
  return EXPORTED_TABLES.map(({ name }) => name).filter(
    (name) => connection.get(`select 1 as one from ${name} limit 1`) !== undefined,
  );
}

function insert(connection: Connection, { table, columns, rows }: ExportedRows): void {
  const isExported = EXPORTED_TABLES.some(({ name }) => name === table);
  refuseUnknown(table, columns, isExported ? columnsOf(connection, table) : undefined);
  const statements = inserting(connection, table, columns);
  for (const row of rows) {
    const values = parametersOf(columns, row);
    for (const sql of statements) connection.run(sql, values);
  }
}

function parametersOf(columns: readonly string[], row: readonly Cell[]): Parameters {
  return Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null]));
}

/**
 * Continues above every fence and after every time of the old store (T-3, C-2). Event numbers
 * continue too.
 */
function goOn(connection: Connection, clock: Clock, request: Load): number {
  const { counters, actor, reason } = request;
  const own = connection.get<{ fence: number; halted: number | null; clockAt: number }>(META);
  const fence = raisedOrigin(
    Math.max(own?.fence ?? 0, counters.fence),
    Math.max(own?.halted ?? 0, counters.halted ?? 0),
  );
  const now = Math.max(Math.trunc(clock.wallMs()), own?.clockAt ?? 0, counters.clockAt);
  connection.run(GO_ON, { fence, now });
  connection.run(FORGET_SEQ);
  connection.run(KEEP_SEQ, { seq: counters.eventSeq });
  connection.run(RECORD_MOVE, { now, actor, reason });
  return epochOf(fence);
}
