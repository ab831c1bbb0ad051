import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import { type ExecutionRow, toExecution } from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';
import { uuids } from './arrays.ts';
import { EXECUTION_COLUMNS } from './rows.ts';

const READ = statement(`
  select ${EXECUTION_COLUMNS}
    from hf.execution e
   where e.id = $1`);

export async function readExecution(
  database: Database,
  id: ExecutionId,
): Promise<ExecutionRecord | undefined> {
  const [row] = await database.rows<ExecutionRow & object>(READ, [id]);
  return row === undefined ? undefined : toExecution(row);
}

// A plan that is made while the table is empty would go through all of it: `offset 0` leaves it no choice.
const READ_MANY = statement(`
  select ${EXECUTION_COLUMNS}
    from unnest($1::uuid[]) with ordinality as u(id, nth)
   cross join lateral (select e.* from hf.execution e where e.id = u.id offset 0) e
   order by u.nth`);

export async function readMany(
  database: Database,
  ids: readonly ExecutionId[],
): Promise<readonly ExecutionRecord[]> {
  if (ids.length === 0) return [];
  const values = [uuids([...new Set(ids)])];
  return (await database.rows<ExecutionRow & object>(READ_MANY, values)).map(toExecution);
}
