import type { ClientBase } from 'pg';
import { notSealed } from '../../../features/export/columns-rows.ts';
import type { Cell, Dumped, MovedRows } from '../../../features/export/port.ts';
import { type Counters, MOVED_TABLES, rowsAtOnce } from '../../../features/export/tables-rows.ts';
import { type Database, type Queries, statement } from '../database.ts';
import { readSeal } from './seal.ts';
import { columnsOf, foundColumns, selecting } from './table-columns.ts';

// After the seal nothing changes; this is for one that is unsealed while it is read.
const ONE_MOMENT = statement('set transaction isolation level repeatable read, read only');

// The reader of the rows may be slow. It holds no lock that another process needs, because the store is sealed.
const PATIENTLY = statement(`select set_config('idle_in_transaction_session_timeout', '0', true)`);

const COUNTERS = statement(`
  select (select case when f.is_called then f.last_value else f.last_value - 1 end from hf.fence f) as "fence",
         m.halted as "halted",
         (select case when s.is_called then s.last_value else 0 end from hf.event_seq s) as "eventSeq",
         m.events_deleted as "eventsDeleted"
    from hf.meta m
   where m.id = 1`);

export interface Dumping {
  readonly database: Database;
  readonly schema: string;
}

export async function dump<Result>(
  { database, schema }: Dumping,
  visit: (dumped: Dumped) => Promise<Result>,
): Promise<Result> {
  return database.attempt(async (queries, client) => {
    await queries.rows(ONE_MOMENT, []);
    await queries.rows(PATIENTLY, []);
    const seal = await readSeal(queries);
    const [counters] = await queries.rows<Omit<Counters, 'clockAt'>>(COUNTERS, []);
    if (seal === undefined || counters === undefined) throw notSealed();
    const rows = rowsOf(queries, { client, database, schema });
    const result = await visit({ seal, counters: { ...counters, clockAt: seal.at }, rows });
    return { keep: false, result };
  });
}

async function* rowsOf(
  queries: Queries,
  { client, database, schema }: Dumping & { readonly client: ClientBase },
): AsyncGenerator<MovedRows> {
  for (const moved of MOVED_TABLES) {
    const { name: table } = moved;
    const count = rowsAtOnce(moved);
    const found = await foundColumns(queries, schema, table);
    const columns = columnsOf(table, found);
    const select = database.fill(selecting(table, found, columns));
    await client.query(`declare moved no scroll cursor for ${select}`);
    for (let isMore = true; isMore; ) {
      const text = `fetch ${count} from moved`;
      const { rows } = await client.query<Cell[]>({ text, rowMode: 'array' });
      isMore = rows.length === count;
      yield { table, columns, rows };
    }
    await client.query('close moved');
  }
}
