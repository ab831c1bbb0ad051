import { notSealed } from '../../../features/export/columns-rows.ts';
import type { Cell, Dumped, MovedRows } from '../../../features/export/port.ts';
import { type Counters, MOVED_TABLES, rowsAtOnce } from '../../../features/export/tables-rows.ts';
import type { Connection } from '../connection.ts';
import { readSeal } from './seal.ts';
import { columnsOf, selecting } from './table-columns.ts';

const COUNTERS = `
  select meta.fence, meta.halted, meta.clock_at as clockAt,
         coalesce((select seq from sqlite_sequence where name = 'event'), 0) as eventSeq,
         coalesce((select min(seq) - 1 from event),
                  (select seq from sqlite_sequence where name = 'event'), 0) as eventsDeleted
    from meta
   where meta.id = 1`;

/** On a connection that nobody else uses. */
export async function dump<Result>(
  connection: Connection,
  visit: (dumped: Dumped) => Promise<Result>,
): Promise<Result> {
  connection.execute('begin');
  try {
    const seal = readSeal(connection);
    const counters = connection.get<Counters>(COUNTERS);
    if (seal === undefined || counters === undefined) throw notSealed();
    return await visit({ seal, counters: { ...counters }, rows: rowsOf(connection) });
  } finally {
    connection.undo();
  }
}

async function* rowsOf(connection: Connection): AsyncGenerator<MovedRows> {
  for (const moved of MOVED_TABLES) {
    const { name: table } = moved;
    const columns = columnsOf(connection, table) ?? [];
    let rows: (readonly Cell[])[] = [];
    const statement = connection.arrays<readonly Cell[]>(selecting(table, columns));
    for (const row of statement.iterate()) {
      rows.push(row);
      if (rows.length < rowsAtOnce(moved)) continue;
      yield { table, columns, rows };
      rows = [];
    }
    yield { table, columns, rows };
  }
}
