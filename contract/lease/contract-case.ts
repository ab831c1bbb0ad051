// The contract of a kernel store, as data. Each case names the rules of docs/spec/lease.md that it
// upholds and runs the check. Any test runner can run the list, also for a store of your own.

import type { LeasePolicy } from '../../src/lease/policy.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import type { Instant } from '../../src/support/clock.ts';

/**
 * What not every store can offer. `durable`: it can be closed and opened again. `two-clients`:
 * several clients share its data. `host-clock`: its time is the host's, which people set back.
 * `server`: it is a server of its own, which is restarted, or restored elsewhere, beside its clients.
 * `projects`: it keeps executions, and with them the sessions of several projects.
 */
export type Need = 'durable' | 'two-clients' | 'host-clock' | 'server' | 'projects';

export interface ContractCase {
  /** Ids of the rules, such as `A-3, U-2`. */
  readonly upholds: string;
  /** One sentence about behaviour. */
  readonly name: string;
  /** What differs from the default policy. */
  readonly policy?: Partial<LeasePolicy>;
  readonly needs?: Need | readonly Need[];
  run(harness: KernelHarness): Promise<void>;
}

/** A fresh, empty store whose time stands still unless a case moves it. */
export interface KernelHarness {
  readonly store: KernelStore;
  /** A second client of the same data. */
  another(): Promise<KernelStore>;
  /** Closes every client and opens the data again. */
  reopen(): Promise<KernelStore>;
  /** Moves the store's clock; a store with `host-clock` is also moved back. */
  advance(ms: number): Promise<void>;
  now(): Instant;
  /**
   * The server was started anew while its clients went on; `elsewhere` when it is no longer the same
   * one: a standby that took over, a copy that was restored. Only where `server` is offered.
   */
  restarted?(how: 'in-place' | 'elsewhere'): Promise<void>;
}

/** A harness that its runner must take down. */
export interface OpenHarness extends KernelHarness {
  close(): Promise<void>;
}

export interface ContractBackend {
  readonly offers: readonly Need[];
  open(policy: Partial<LeasePolicy>): Promise<OpenHarness>;
}

/** Why this backend cannot run the case; undefined when it can. */
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

/** Runs one case on a store of its own; rejects when the store breaks the contract. */
export async function runCase(contractCase: ContractCase, backend: ContractBackend): Promise<void> {
  const harness = await backend.open(contractCase.policy ?? {});
  try {
    await contractCase.run(harness);
  } finally {
    await harness.close();
  }
}
