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
} from '../../contract/index.ts';
import { readKillers } from '../mutation/verdict.ts';
import { sample } from '../services/tier.ts';
import { coordinatorBackend, NOT_THROUGH, WAYS, type Way } from './coordinator-backend.ts';
import { executionBackend } from './execution-backend.ts';

/**
 * The number of cases without a need for a file that `npm test` runs on one. The memory store runs
 * the same code (ADR 0042).
 */
const ON_A_FILE = 20;

/**
 * The contracts on SQLite files: the cases that need a file or two connections, and a sample of the
 * rest.
 */
export function registerFileContracts(backend: ContractBackend): void {
  const executions = executionBackend(backend);
  register(onFile('lease', leaseContract), backend, (each) => runCase(each, backend));
  register(onFile('execution', executionContract), backend, (each) =>
    runExecutionCase(each, executions),
  );
  register(onFile('access', accessContract), backend, (each) => runAccessCase(each, executions));
}

function onFile<Case extends Pick<ContractCase, 'needs'>>(
  name: string,
  cases: readonly Case[],
): readonly Case[] {
  const needsFile = ({ needs = [] }: Case): boolean =>
    [needs].flat().some((need) => need === 'durable' || need === 'two-clients');
  const rest = cases.filter((each) => !needsFile(each));
  const taken = new Set(sample(`${name} contract, sqlite`, rest, ON_A_FILE));
  return cases.filter((each) => needsFile(each) || taken.has(each));
}

/** `count`: how many cases `npm test` takes. Default: all. */
export function registerLeaseContract(
  backend: ContractBackend,
  count: number = leaseContract.length,
): void {
  const cases = leaseContract.filter((each) => skipReason(each, backend) === undefined);
  const taken = sample('lease contract', cases, count);
  register(taken, backend, (each) => runCase(each, backend));
}

/** How many cases `npm test` takes for each way to a coordinator. */
const THROUGH_COORDINATOR = 10;

/** The lease contract through coordinators on this backend, over every transport. */
export function registerLeasesThrough(base: ContractBackend, store: string): void {
  for (const way of Object.keys(WAYS) as readonly Way[]) {
    const backend = coordinatorBackend(base, way);
    const cases = leaseContract.filter(
      (each) => skipReason(each, backend) === undefined && !(each.name in NOT_THROUGH),
    );
    for (const each of sample(`leases over ${way}, ${store}`, cases, THROUGH_COORDINATOR)) {
      test(`${way}: ${each.upholds}: ${each.name}`, () => runCase(each, backend));
    }
  }
}

/** `npm test` takes the cases that kill a mutant of this store, and `others` more. Default: all. */
export function registerExecutionContract(
  backend: ContractBackend,
  { store, others }: { readonly store?: string; readonly others?: number } = {},
): void {
  const executions = executionBackend(backend);
  const killers = new Set(
    Object.entries(readKillers()).flatMap(([mutant, by]) =>
      mutant.startsWith(`${store}/`) ? [by] : [],
    ),
  );
  const isKiller = (each: (typeof executionContract)[number]): boolean =>
    killers.has(`${each.upholds}: ${each.name}`);
  const rest = executionContract.filter((each) => !isKiller(each));
  const taken = new Set(sample(`execution contract, ${store}`, rest, others ?? rest.length));
  const cases = executionContract.filter((each) => isKiller(each) || taken.has(each));
  register(cases, backend, (each) => runExecutionCase(each, executions));
}

export function registerAccessContract(backend: ContractBackend): void {
  const access = executionBackend(backend);
  register(accessContract, backend, (each) => runAccessCase(each, access));
}

/** Registers each case that the store can run, on its own store. */
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
