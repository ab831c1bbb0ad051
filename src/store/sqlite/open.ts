// The SQLite store, for processes on one machine. See README.md beside this file.

import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import type { KernelStore } from '../../lease/port.ts';
import type { Clock } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { hostClock } from '../../support/host-clock.ts';
import { boundedText, integerOption, rejectUnknownOptions, shown } from '../../support/options.ts';
import { type Random, systemRandom } from '../../support/random.ts';
import { systemTimers, type Timers } from '../../support/timer.ts';
import type { CoordinatorStore } from '../contract/execution-store.ts';
import { clockProblem } from './clock-problem.ts';
import { connect, type StoreFile } from './connect.ts';
import type { Durability } from './connection.ts';
import { Database, type DatabaseConfig } from './database.ts';
import { OtherProcesses } from './other-processes.ts';
import { portsOf } from './ports.ts';

/** Options of `openSqliteStore`. */
export interface SqliteStoreOptions {
  /**
   * The path of the file, on a local disk. Its folder must exist. Several processes of one machine
   * may share it.
   */
  readonly file: string;
  /** Limits that differ from `DEFAULT_POLICY`. */
  readonly policy?: Partial<LeasePolicy>;
  /** The clock that decides expiry. Default: the host's. Replace it in tests. */
  readonly clock?: Clock;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
  /** The random source. Default: that of Node. Replace it in tests. */
  readonly random?: Random;
  /**
   * `full` (default) survives a power cut. `normal` is faster, but a power cut may lose the last
   * commits.
   */
  readonly durability?: Durability;
  /** Milliseconds to wait while another process writes, up to 600,000. Default 10,000. */
  readonly busyTimeoutMs?: number;
  /** For tests: called before and after every commit of an operation on executions. */
  readonly onBoundary?: (phase: 'before' | 'after', n: number) => void;
}

const BUSY_TIMEOUT_MS = 10_000;

const DURABILITY: Readonly<Record<Durability, string>> = {
  full: 'process and machine crashes (WAL, synchronous=FULL)',
  normal:
    'process crashes; a machine crash may lose the last commits (WAL, synchronous=NORMAL, as configured)',
};

/**
 * Opens a store in a SQLite file, for everything that runs on one machine. Creates the file and its
 * tables.
 *
 * Throws `InvalidInput` for invalid options, `StoreUnavailable` if the file cannot be opened, and
 * `StoreSealed` if the store was exported.
 *
 * @example
 * const store = await openSqliteStore({ file: './holdfast.db' });
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<CoordinatorStore> {
  const { file, durability, ...config } = resolve(options);
  const database = new Database(await connect({ file, durability }, config), config);
  const problem = await clockProblem(database);
  if (problem !== undefined) {
    process.emitWarning(`${problem.sentence} ${problem.advice}`, 'HoldfastWarning');
  }
  return {
    kind: 'sqlite',
    policy: config.policy,
    durability: DURABILITY[durability],
    hintsReach: 'this-process',
    ...addressOf(options),
    ...portsOf(database),
  };
}

/**
 * The address lets another thread open the same store. A custom clock, timers or random source
 * cannot cross threads.
 */
function addressOf(options: SqliteStoreOptions): Pick<KernelStore, 'address'> {
  if (options.clock ?? options.timers ?? options.random ?? options.onBoundary) return {};
  return { address: { module: import.meta.url, open: 'openSqliteStore', options } };
}

function resolve(options: SqliteStoreOptions): StoreFile & DatabaseConfig {
  rejectUnknownOptions('openSqliteStore', options, [
    ...['file', 'policy', 'clock', 'timers', 'random', 'durability', 'busyTimeoutMs', 'onBoundary'],
  ]);
  const file = boundedText('file', options.file, 4_096);
  if (file === ':memory:') {
    throw new InvalidInput(
      'file must not be ":memory:", which keeps nothing. For a store in memory, use openMemoryStore().',
    );
  }
  const durability = options.durability ?? 'full';
  if (!Object.hasOwn(DURABILITY, durability)) {
    throw new InvalidInput(`durability must be "full" or "normal"; got ${shown(durability)}.`);
  }
  const busyTimeoutMs = options.busyTimeoutMs ?? BUSY_TIMEOUT_MS;
  return {
    file,
    durability,
    policy: resolvePolicy(options.policy),
    clock: options.clock ?? hostClock,
    timers: options.timers ?? systemTimers,
    random: options.random ?? systemRandom,
    busyTimeoutMs: integerOption('busyTimeoutMs', busyTimeoutMs, { min: 0, max: 600_000 }),
    // Tests that replace the timers decide themselves when something happens.
    ...(options.timers === undefined && !file.startsWith('file:')
      ? { others: new OtherProcesses(file) }
      : {}),
    ...(options.onBoundary === undefined ? {} : { onBoundary: options.onBoundary }),
  };
}
