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

export interface MemoryStoreOptions {
  readonly policy?: Partial<LeasePolicy>;
  /** The clock that decides expiry; the host's unless a test brings its own. */
  readonly clock?: Clock;
}

/** A commit waits for no disk, so a test that moves its clock needs to wait only for promises. */
const TIMERS: Timers = { ...systemTimers, soon: atEndOfTurn };

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
