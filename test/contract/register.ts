import { test } from 'node:test';
import {
  type ContractBackend,
  leaseContract,
  runCase,
  skipReason,
} from '../../src/testing/index.ts';

/**
 * Every case on a store of its own. What the store cannot offer is skipped by name, with the reason;
 * so is everything when the run was told to leave the backend out.
 */
export function registerLeaseContract(backend: ContractBackend, excluded?: string): void {
  for (const contractCase of leaseContract) {
    const title = `${contractCase.upholds}: ${contractCase.name}`;
    const skip = excluded ?? skipReason(contractCase, backend) ?? false;
    test(title, { skip }, () => runCase(contractCase, backend));
  }
}
