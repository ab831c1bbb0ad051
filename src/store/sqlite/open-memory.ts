// The memory store: SQLite without a file. Use it for tests, and for leases within one process.

import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import { type Clock, systemClock } from '../../support/clock.ts';
import { rejectUnknownOptions } from '../../support/options.ts';
import { systemRandom } from '../../support/random.ts';
import { atEndOfTurn, systemTimers, type Timers } from '../../support/timer.ts';
import type { CoordinatorStore } from '../contract/execution-store.ts';
import { connectMemory } from './connect.ts';
import { Database } from './database.ts';
import { portsOf } from './ports.ts';

/** Options of `openMemoryStore`. */
export interface MemoryStoreOptions {
  /** Limits that differ from `DEFAULT_POLICY`. */
  readonly policy?: Partial<LeasePolicy>;
  /** The clock that decides expiry. Default: the system's. Replace it in tests. */
  readonly clock?: Clock;
}

/** A commit waits for no disk, so a test that moves its clock needs to wait only for promises. */
const TIMERS: Timers = { ...systemTimers, soon: atEndOfTurn };

/**
 * Opens a store in memory, for tests and for coordination within one process. It ends with the
 * process.
 *
 * Throws `InvalidInput` for invalid options.
 *
 * @example
 * const store = openMemoryStore();
 */
export function openMemoryStore(options: MemoryStoreOptions = {}): CoordinatorStore {
  rejectUnknownOptions('openMemoryStore', options, ['policy', 'clock']);
  const policy = resolvePolicy(options.policy);
  const clock = options.clock ?? systemClock;
  const environment = { clock, timers: TIMERS, random: systemRandom };
  // No other connection can lock it.
  const database = new Database(connectMemory(), { ...environment, policy, busyTimeoutMs: 0 });
  return {
    kind: 'memory',
    policy,
    durability: 'until the process ends',
    hintsReach: 'all-processes',
    ...portsOf(database),
  };
}
