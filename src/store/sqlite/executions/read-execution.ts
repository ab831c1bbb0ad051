import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { ReadTransaction } from '../transaction.ts';
import { loadExecution } from './load-execution.ts';

export function readExecution(tx: ReadTransaction, id: ExecutionId): ExecutionRecord | undefined {
  return loadExecution(tx, id);
}

export function readMany(
  tx: ReadTransaction,
  ids: readonly ExecutionId[],
): readonly ExecutionRecord[] {
  return [...new Set(ids)].flatMap((id) => loadExecution(tx, id) ?? []);
}
