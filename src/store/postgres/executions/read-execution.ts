import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import { type ExecutionRow, toExecution } from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';
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
