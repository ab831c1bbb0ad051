// The contract of a store that keeps executions, as data. Each case names the rules of
// docs/spec/execution.md, await.md, repair.md, audit.md and retention.md that it upholds and runs
// the check. After every case, the runner checks everything stored against the invariants.

import type { LeasePolicy } from '../../src/lease/policy.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import type { KernelHarness, Need } from '../lease/contract-case.ts';
import { checkEverything } from './check.ts';

export interface ExecutionCase {
  /** Ids of the rules, such as `X-1, X-4`. */
  readonly upholds: string;
  /** One sentence about behaviour. */
  readonly name: string;
  /** What differs from the default policy. */
  readonly policy?: Partial<LeasePolicy>;
  readonly needs?: Need | readonly Need[];
  run(harness: ExecutionHarness): Promise<void>;
}

/** A fresh, empty store whose time stands still unless a case moves it. */
export interface ExecutionHarness extends KernelHarness {
  readonly store: CoordinatorStore;
  another(): Promise<CoordinatorStore>;
  reopen(): Promise<CoordinatorStore>;
}

/** A harness that its runner must take down. */
export interface OpenExecutionHarness extends ExecutionHarness {
  close(): Promise<void>;
}

export interface ExecutionBackend {
  readonly offers: readonly Need[];
  open(policy: Partial<LeasePolicy>): Promise<OpenExecutionHarness>;
}

/** Runs one case on a store of its own; rejects when the store breaks the contract. */
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
