import { refuseUnknown } from '../../../features/export/columns-rows.ts';
import type { Cell, Load, LoadAnswer, MovedRows } from '../../../features/export/port.ts';
import { MOVED_TABLES } from '../../../features/export/tables-rows.ts';
import { type Database, type Queries, statement } from '../database.ts';
import { liftFences } from '../recover.ts';
import { lockAll, refuseSealed } from './seal.ts';
import { type Columns, columnsOf, foundColumns, inserting } from './table-columns.ts';

/** PostgreSQL takes so many in one statement. */
const VALUES_MAX = 60_000;

const NOT_EMPTY = statement(
  MOVED_TABLES.map(
    ({ name }) => `select '${name}' as name where exists (select from hf.${name})`,
  ).join(' union all '),
);

// Not transactional, and need not be: a load that is undone leaves a gap.
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

export interface Loading {
  readonly database: Database;
  readonly schema: string;
}

/** One transaction, whatever comes (EX-8). */
export async function load({ database, schema }: Loading, request: Load): Promise<LoadAnswer> {
  return database.attempt<LoadAnswer>(async (queries) => {
    await refuseSealed(queries);
    await lockAll(queries);
    const full = await queries.rows<{ name: string }>(NOT_EMPTY, []);
    if (full.length > 0) {
      const tables = full.map(({ name }) => name);
      return { keep: false, result: { kind: 'refused', why: 'not-empty', tables } };
    }
    for await (const moved of request.rows) await insert(queries, schema, moved);
    return { keep: true, result: { kind: 'loaded', epoch: await goOn(queries, request) } };
  });
}

async function insert(queries: Queries, schema: string, moved: MovedRows): Promise<void> {
  const { table, columns: given, rows } = moved;
  const found: Columns = MOVED_TABLES.some(({ name }) => name === table)
    ? await foundColumns(queries, schema, table)
    : new Map();
  refuseUnknown(table, given, found.size === 0 ? undefined : columnsOf(table, found));
  const rowsMax = Math.max(1, Math.floor(VALUES_MAX / given.length));
  for (let from = 0; from < rows.length; from += rowsMax) {
    const some = rows.slice(from, from + rowsMax);
    const text = inserting(table, { found, given, rows: some.length });
    await queries.rows(statement(text), some.flat().map(toValue));
  }
}

function toValue(cell: Cell): unknown {
  return cell instanceof Uint8Array ? Buffer.from(cell) : cell;
}

/** T-3: above every fence of the store that it was; events go on where they were. */
async function goOn(queries: Queries, request: Load): Promise<number> {
  const { counters, actor, reason } = request;
  await queries.rows(LIFT, [Math.max(counters.fence, counters.halted ?? 0)]);
  await queries.rows(EVENTS_GO_ON, [counters.eventSeq, counters.eventsDeleted]);
  return liftFences(queries, { actor, reason, endHalt: true });
}
