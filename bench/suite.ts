// The interface of a suite. Each suite has a folder; `suites.ts` lists them.

import type { Pace } from './measure.ts';
import type { Result } from './report.ts';

export interface Plan {
  readonly quick: boolean;
  /** Stores to measure. */
  readonly stores: readonly StoreKind[];
  /** Only cases whose name contains this. */
  readonly only: string;
  /** The nth part of the cases, such as 1 of 4. The tenants suite uses it. */
  readonly part: { readonly nth: number; readonly of: number };
  /** The number of rounds, if the user named one. The executions, growth and tenants suites use it. */
  readonly rounds: number | undefined;
  /** The largest size of a growth curve, and of the console's stores. */
  readonly sizeMax: number;
  /** The folder of the spikes, if the user named one. The executions suite uses it. */
  readonly spikes: string | undefined;
  /** Shows the current case in the terminal. */
  readonly progress: (what: string) => void;
}

export type StoreKind = (typeof STORE_KINDS)[number];

/** Redis and etcd keep leases only. */
export const STORE_KINDS = ['memory', 'sqlite', 'postgres', 'redis', 'etcd'] as const;

export interface Suite {
  readonly name: string;
  readonly summary: string;
  /** How to read the tables. Printed once, below them. */
  readonly legend: readonly string[];
  /** Yields results in reading order, store by store. */
  run(plan: Plan): AsyncGenerator<Result, void, void>;
}

/** A suite measured what must not be. The message says what to do. */
export class BenchFailed extends Error {
  override readonly name = 'BenchFailed';
}

export function paceOf(plan: Plan): Pace {
  return plan.quick
    ? { rounds: 3, roundMs: 50, warmUpMs: 30 }
    : { rounds: 7, roundMs: 150, warmUpMs: 100 };
}
