// The cases that must fail with a mutant, on the store that it is a mutant of.

import {
  accessContract,
  executionContract,
  leaseContract,
  type Need,
  runAccessCase,
  runCase,
  runExecutionCase,
  skipReason,
} from '../../contract/index.ts';
import { executionBackend } from '../contract/execution-backend.ts';
import { postgresBackend } from '../contract/postgres-backend.ts';
import { type OpenBackend, openBackend } from '../model/backends.ts';
import { postgresForTests } from '../services/postgres.ts';
import type { ContractName, MutatedStore } from './mutants.ts';

export interface TitledCase {
  readonly title: string;
  run(): Promise<void>;
}

export interface OpenContract {
  readonly cases: readonly TitledCase[];
  release(): Promise<void>;
}

export async function openContract(
  contract: ContractName,
  store: MutatedStore,
): Promise<OpenContract> {
  if (contract === 'lease') {
    const { backend, release } = await openBackend(store);
    return { release, cases: titled(leaseContract, backend, (each) => runCase(each, backend)) };
  }
  const { backend, release } = await openForExecutions(store);
  const executions = executionBackend(backend);
  const cases =
    contract === 'access'
      ? titled(accessContract, backend, (each) => runAccessCase(each, executions))
      : titled(executionContract, backend, (each) => runExecutionCase(each, executions));
  return { release, cases };
}

/**
 * On PostgreSQL each case has its own schema, since the fast backend empties only the tables of
 * leases.
 */
async function openForExecutions(store: MutatedStore): Promise<OpenBackend> {
  if (store === 'sqlite') return openBackend(store);
  const database = await postgresForTests();
  const backend = postgresBackend(database.url);
  return {
    backend,
    async release() {
      await backend.end();
      await database.release();
    },
  };
}

interface AnyCase {
  readonly upholds: string;
  readonly name: string;
  readonly needs?: Need | readonly Need[];
}

function titled<Case extends AnyCase>(
  cases: readonly Case[],
  backend: OpenBackend['backend'],
  run: (each: Case) => Promise<void>,
): readonly TitledCase[] {
  return cases
    .filter((each) => skipReason(each, backend) === undefined)
    .map((each) => ({ title: `${each.upholds}: ${each.name}`, run: () => run(each) }));
}
