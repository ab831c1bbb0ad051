// The contract of a kernel store, as data. Each case names the rules of docs/spec/lease.md that it
// upholds and runs the check. Any test runner can run the list, also for a store of your own.

import type { LeasePolicy } from '../../src/lease/policy.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import type { Instant } from '../../src/support/clock.ts';

/**
 * A capability that not every store has.
 *
 * - `durable`: it can be closed and opened again.
 * - `two-clients`: several clients share its data.
 * - `host-clock`: its time is the host's, which may be set back.
 * - `server`: it is a server that restarts apart from its clients.
 * - `projects`: it keeps executions, and sessions of several projects.
 */
export type Need = 'durable' | 'two-clients' | 'host-clock' | 'server' | 'projects';

/** A case of the contract of lease stores. */
export interface ContractCase {
  /** Ids of the rules that it checks. */
  readonly upholds: string;
  /** The behaviour, in one sentence. */
  readonly name: string;
  /** Limits that differ from `DEFAULT_POLICY`. */
  readonly policy?: Partial<LeasePolicy>;
  /** Capabilities that the store must offer. Default none. */
  readonly needs?: Need | readonly Need[];
  /** Checks the behaviour. Rejects if the store breaks it. */
  run(harness: KernelHarness): Promise<void>;
}

/** A new, empty store whose time stands still until a case moves it. */
export interface KernelHarness {
  /** The store. */
  readonly store: KernelStore;
  /** Opens a second client of the same data. */
  another(): Promise<KernelStore>;
  /** Closes every client and opens the data again. */
  reopen(): Promise<KernelStore>;
  /** Moves the store's clock by `ms` milliseconds. A negative value needs `host-clock`. */
  advance(ms: number): Promise<void>;
  /** Returns the time of the store. */
  now(): Instant;
  /**
   * Simulates a restart of the server under its clients. `elsewhere`: another server took over.
   * Needs `server`.
   */
  restarted?(how: 'in-place' | 'elsewhere'): Promise<void>;
}

/** A harness that its runner must close. */
export interface OpenHarness extends KernelHarness {
  /** Closes the store and deletes its data. */
  close(): Promise<void>;
}

/** Opens the stores that the cases run on. */
export interface ContractBackend {
  /** Capabilities of the store. */
  readonly offers: readonly Need[];
  /** Opens a new, empty store with these limits. */
  open(policy: Partial<LeasePolicy>): Promise<OpenHarness>;
}

/**
 * Returns why a store cannot run a case, or undefined if it can.
 *
 * @example
 * declare const backend: ContractBackend;
 *
 * const runnable = leaseContract.filter((each) => skipReason(each, backend) === undefined);
 */
export function skipReason(
  contractCase: Pick<ContractCase, 'needs'>,
  backend: ContractBackend,
): string | undefined {
  const lacking = [contractCase.needs ?? []]
    .flat()
    .filter((need) => !backend.offers.includes(need));
  if (lacking.length === 0) return undefined;
  return `this store does not offer ${lacking.join(' and ')}`;
}

/**
 * Runs a case on a store of its own. Rejects if the store breaks the contract.
 *
 * @example
 * import { test } from 'node:test';
 *
 * declare const backend: ContractBackend;
 *
 * for (const each of leaseContract) test(each.name, () => runCase(each, backend));
 */
export async function runCase(contractCase: ContractCase, backend: ContractBackend): Promise<void> {
  const harness = await backend.open(contractCase.policy ?? {});
  try {
    await contractCase.run(harness);
  } finally {
    await harness.close();
  }
}
