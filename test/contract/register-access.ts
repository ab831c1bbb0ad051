import { test } from 'node:test';
import {
  accessContract,
  type ContractBackend,
  runAccessCase,
  skipReason,
} from '../../src/testing/index.ts';
import { executionBackend } from './execution-backend.ts';

/** Every case on a store of its own; what the store cannot offer is skipped by name. */
export function registerAccessContract(backend: ContractBackend, excluded?: string): void {
  const access = executionBackend(backend);
  for (const accessCase of accessContract) {
    const title = `${accessCase.upholds}: ${accessCase.name}`;
    const skip = excluded ?? skipReason(accessCase, backend) ?? false;
    test(title, { skip }, () => runAccessCase(accessCase, access));
  }
}
