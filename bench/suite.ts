// What a suite is. Each lives in a folder of its own and is listed in `suites.ts`.

import type { Pace } from './measure.ts';
import type { Result } from './report.ts';

export interface Plan {
  readonly quick: boolean;
  /** Stores to measure. */
  readonly stores: readonly StoreKind[];
  /** Only cases whose name contains this. */
  readonly only: string;
  /** Where the spikes are, if somebody said; suites that use none ignore it. */
  readonly spikes: string | undefined;
  /** What is being measured now, for whoever watches. */
  readonly progress: (what: string) => void;
}

export type StoreKind = (typeof STORE_KINDS)[number];

/** Redis and etcd keep leases only. */
export const STORE_KINDS = ['memory', 'sqlite', 'postgres', 'redis', 'etcd'] as const;

export interface Suite {
  readonly name: string;
  readonly summary: string;
  /** How to read the table, said once below it. */
  readonly legend: readonly string[];
  /** Results in the order in which people should read them, all of one store together. */
  run(plan: Plan): AsyncGenerator<Result, void, void>;
}

/** Quick is for a look while working; only the full form is for decisions. */
export function paceOf(plan: Plan): Pace {
  return plan.quick
    ? { rounds: 3, roundMs: 50, warmUpMs: 30 }
    : { rounds: 7, roundMs: 150, warmUpMs: 100 };
}
