// The contract of projects and access keys, as data. Each case names the rules of
// docs/spec/access.md that it upholds and runs the check.

import type { ExecutionBackend, ExecutionHarness } from '../execution/contract-case.ts';
import type { Need } from '../lease/contract-case.ts';

/** A case of the contract of projects and access keys. */
export interface AccessCase {
  /** Ids of the rules that it checks. */
  readonly upholds: string;
  /** The behaviour, in one sentence. */
  readonly name: string;
  /** Capabilities that the store must offer. Default none. */
  readonly needs?: Need | readonly Need[];
  /** Checks the behaviour. Rejects if the store breaks it. */
  run(harness: ExecutionHarness): Promise<void>;
}

/**
 * Runs a case on a store of its own. Rejects if the store breaks the contract.
 *
 * @example
 * import { test } from 'node:test';
 *
 * declare const backend: ExecutionBackend;
 *
 * for (const each of accessContract) test(each.name, () => runAccessCase(each, backend));
 */
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
