import { refuseUnknown } from '../../../features/export/columns-rows.ts';
import type { Cell, Load, LoadAnswer, MovedRows } from '../../../features/export/port.ts';
import { MOVED_TABLES } from '../../../features/export/tables-rows.ts';
import { epochOf, raisedOrigin } from '../../../lease/fence.ts';
import type { Clock } from '../../../support/clock.ts';
import type { Connection, Parameters } from '../connection.ts';
import { columnsOf, inserting } from './table-columns.ts';

const META = 'select fence, halted, clock_at as clockAt from meta where id = 1';

const GO_ON = `
  update meta
     set fence = :fence,
         halted = null,
         clock_at = :now
   where id = 1`;

const FORGET_SEQ = "delete from sqlite_sequence where name = 'event'";
const KEEP_SEQ = "insert into sqlite_sequence (name, seq) values ('event', :seq)";

const TELL = `
  insert into event (at, kind, detail)
  values (:now, 'epoch-raised', json_object('actor', :actor, 'cause', :reason))`;

/** On a connection that nobody else uses. One transaction, whatever comes (EX-8). */
export async function load(
  connection: Connection,
  clock: Clock,
  request: Load,
): Promise<LoadAnswer> {
  connection.execute('begin immediate');
  try {
    const tables = notEmpty(connection);
    if (tables.length > 0) return { kind: 'refused', why: 'not-empty', tables };
    for await (const moved of request.rows) insert(connection, moved);
    const epoch = goOn(connection, clock, request);
    connection.execute('commit');
    return { kind: 'loaded', epoch };
  } finally {
    connection.undo();
  }
}

function notEmpty(connection: Connection): readonly string[] {
  return MOVED_TABLES.map(({ name }) => name).filter(
    (name) => connection.get(`select 1 as one from ${name} limit 1`) !== undefined,
  );
}

function insert(connection: Connection, { table, columns, rows }: MovedRows): void {
  const isMoved = MOVED_TABLES.some(({ name }) => name === table);
  refuseUnknown(table, columns, isMoved ? columnsOf(connection, table) : undefined);
  const statements = inserting(connection, table, columns);
  for (const row of rows) {
    const values = parametersOf(columns, row);
    for (const sql of statements) connection.run(sql, values);
  }
}

function parametersOf(columns: readonly string[], row: readonly Cell[]): Parameters {
  return Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null]));
}

/** T-3, C-2: above every fence and after every time of the store that it was; events go on where they were. */
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
  connection.run(TELL, { now, actor, reason });
  return epochOf(fence);
}
