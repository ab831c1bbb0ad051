import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { ReadTransaction } from '../transaction.ts';
import { loadExecution } from './load-execution.ts';

export function readExecution(tx: ReadTransaction, id: ExecutionId): ExecutionRecord | undefined {
  return loadExecution(tx, id);
}
