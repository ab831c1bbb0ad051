// The contract of projects and access keys, as data. Each case names the rules of
// docs/spec/access.md that it upholds and runs the check.

import type { ExecutionBackend, ExecutionHarness } from '../execution/contract-case.ts';
import type { Need } from '../lease/contract-case.ts';

export interface AccessCase {
  /** Ids of the rules, such as `P-1, P-4`. */
  readonly upholds: string;
  /** One sentence about behaviour. */
  readonly name: string;
  readonly needs?: Need | readonly Need[];
  run(harness: ExecutionHarness): Promise<void>;
}

/** Runs one case on a store of its own; rejects when the store breaks the contract. */
export async function runAccessCase(
  accessCase: AccessCase,
  backend: ExecutionBackend,
): Promise<void> {
  const harness = await backend.open({});
  try {
    await accessCase.run(harness);
  } finally {
    await harness.close();
  }
}
