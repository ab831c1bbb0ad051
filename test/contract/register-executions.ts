import { test } from 'node:test';
import {
  type ContractBackend,
  executionContract,
  runExecutionCase,
  skipReason,
} from '../../src/testing/index.ts';
import { executionBackend } from './execution-backend.ts';

/** Every case on a store of its own; what the store cannot offer is skipped by name. */
export function registerExecutionContract(backend: ContractBackend, excluded?: string): void {
  const executions = executionBackend(backend);
  for (const executionCase of executionContract) {
    const title = `${executionCase.upholds}: ${executionCase.name}`;
    const skip = excluded ?? skipReason(executionCase, backend) ?? false;
    test(title, { skip }, () => runExecutionCase(executionCase, executions));
  }
}
