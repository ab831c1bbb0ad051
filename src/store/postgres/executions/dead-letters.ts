import type { ExecutionRecord } from '../../../execution/execution.ts';
import { type DeadLetter, storable } from '../../../features/repair/model.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';

const WRITE = statement(`
  insert into hf.dead_letter (execution_id, project, pipeline, status, at, category, code, reason, step, attempts, release)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`);

/** Y-10: in the transaction that ends the execution. */
export async function writeDeadLetter(
  queries: Queries,
  ended: ExecutionRecord,
  letter: DeadLetter,
): Promise<void> {
  const { id, project, pipeline, status, endedAt } = ended;
  const { category, code, reason, step, attempts } = storable(letter);
  const told = [category, code, reason, step ?? null, attempts, ended.release ?? null];
  await queries.rows(WRITE, [id, project, pipeline, STATUS_CODES[status], endedAt, ...told]);
}
