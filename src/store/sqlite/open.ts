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
import { portsOf } from './ports.ts';

export interface SqliteStoreOptions {
  /** On a local disk; its folder must exist. Several processes of one machine may share it. */
  readonly file: string;
  readonly policy?: Partial<LeasePolicy>;
  /** The clock that decides expiry; the host's unless a test brings its own. */
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
  /** `normal` is faster, and a power cut may take back the last answers. */
  readonly durability?: Durability;
  /** How long to wait while another process writes; 10 s unless said otherwise. */
  readonly busyTimeoutMs?: number;
  /** For tests that end the process: called around every commit of an execution verb. */
  readonly onBoundary?: (phase: 'before' | 'after', n: number) => void;
}

const BUSY_TIMEOUT_MS = 10_000;

const DURABILITY: Readonly<Record<Durability, string>> = {
  full: 'process and machine crashes (WAL, synchronous=FULL)',
  normal:
    'process crashes; a machine crash may lose the last commits (WAL, synchronous=NORMAL, as configured)',
};

/** Makes the file and its tables when they do not exist. */
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
    throw new InvalidInput('":memory:" would forget everything. Use openMemoryStore for that.');
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
    ...(options.onBoundary === undefined ? {} : { onBoundary: options.onBoundary }),
  };
}
