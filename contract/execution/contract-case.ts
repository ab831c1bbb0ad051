// The contract of a store that keeps executions, as data. Each case names the rules of
// docs/spec/execution.md, await.md, repair.md, audit.md and retention.md that it upholds and runs
// the check. After every case, the runner checks everything stored against the invariants.

import type { LeasePolicy } from '../../src/lease/policy.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import type { KernelHarness, Need } from '../lease/contract-case.ts';
import { checkEverything } from './check.ts';

/** A case of the contract of stores that keep executions. */
export interface ExecutionCase {
  /** Ids of the rules that it checks. */
  readonly upholds: string;
  /** The behaviour, in one sentence. */
  readonly name: string;
  /** Limits that differ from `DEFAULT_POLICY`. */
  readonly policy?: Partial<LeasePolicy>;
  /** Capabilities that the store must offer. Default none. */
  readonly needs?: Need | readonly Need[];
  /** Checks the behaviour. Rejects if the store breaks it. */
  run(harness: ExecutionHarness): Promise<void>;
}

/** A new, empty store whose time stands still until a case moves it. */
export interface ExecutionHarness extends KernelHarness {
  /** The store. */
  readonly store: CoordinatorStore;
  /** Opens a second client of the same data. */
  another(): Promise<CoordinatorStore>;
  /** Closes every client and opens the data again. */
  reopen(): Promise<CoordinatorStore>;
}

/** A harness that its runner must close. */
export interface OpenExecutionHarness extends ExecutionHarness {
  /** Closes the store and deletes its data. */
  close(): Promise<void>;
}

/** Opens the stores that the cases run on. */
export interface ExecutionBackend {
  /** Capabilities of the store. */
  readonly offers: readonly Need[];
  /** Opens a new, empty store with these limits. */
  open(policy: Partial<LeasePolicy>): Promise<OpenExecutionHarness>;
}

/**
 * Runs a case on a store of its own. Rejects if the store breaks the contract.
 *
 * @example
 * import { test } from 'node:test';
 *
 * declare const backend: ExecutionBackend;
 *
 * for (const each of executionContract) test(each.name, () => runExecutionCase(each, backend));
 */
export async function runExecutionCase(
  executionCase: ExecutionCase,
  backend: ExecutionBackend,
): Promise<void> {
  const harness = await backend.open(executionCase.policy ?? {});
  let newest = harness.store;
  const reopen = async (): Promise<CoordinatorStore> => {
    newest = await harness.reopen();
    return newest;
  };
  try {
    await executionCase.run({ ...harness, reopen });
    await checkEverything(newest);
  } finally {
    await harness.close();
  }
}
