import { test } from 'node:test';
import {
  accessContract,
  type ContractBackend,
  type ContractCase,
  executionContract,
  leaseContract,
  runAccessCase,
  runCase,
  runExecutionCase,
  skipReason,
} from '../../src/testing/index.ts';
import { sample } from '../services/excluded.ts';
import { executionBackend } from './execution-backend.ts';

/** `count`: how many cases `npm test` takes. Default: all. */
export function registerLeaseContract(
  backend: ContractBackend,
  count: number = leaseContract.length,
): void {
  const cases = leaseContract.filter((each) => skipReason(each, backend) === undefined);
  const taken = sample('lease contract', cases, count);
  register(taken, backend, (each) => runCase(each, backend));
}

export function registerExecutionContract(backend: ContractBackend): void {
  const executions = executionBackend(backend);
  register(executionContract, backend, (each) => runExecutionCase(each, executions));
}

export function registerAccessContract(backend: ContractBackend): void {
  const access = executionBackend(backend);
  register(accessContract, backend, (each) => runAccessCase(each, access));
}

/** Each case that the store can run, on a store of its own. */
function register<Case extends Pick<ContractCase, 'upholds' | 'name' | 'needs'>>(
  cases: readonly Case[],
  backend: ContractBackend,
  run: (each: Case) => Promise<void>,
): void {
  for (const each of cases) {
    if (skipReason(each, backend) !== undefined) continue;
    test(`${each.upholds}: ${each.name}`, () => run(each));
  }
}
