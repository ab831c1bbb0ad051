// The SQLite store: for everything that runs on one machine. See README.md beside this file.

import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import type { KernelStore, LeaseStore, SessionStore } from '../../lease/port.ts';
import type { Clock } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { hostClock } from '../../support/host-clock.ts';
import { boundedText, rejectUnknownOptions, shown, wholeNumber } from '../../support/options.ts';
import { type Random, systemRandom } from '../../support/random.ts';
import { systemTimers, type Timers } from '../../support/timer.ts';
import type { CoordinatorStore } from '../contract/execution-store.ts';
import { accessOf } from './access/open.ts';
import { acquire } from './acquire.ts';
import { beginIntent } from './begin-intent.ts';
import { checkpoint } from './checkpoint.ts';
import { clockProblem } from './clock-problem.ts';
import { connect, type StoreFile } from './connect.ts';
import type { Durability } from './connection.ts';
import { Database, type DatabaseConfig } from './database.ts';
import { endSession } from './end-session.ts';
import { executionsOf } from './executions/open.ts';
import { heartbeat } from './heartbeat.ts';
import { inspectLease } from './inspect-lease.ts';
import { inspectSession } from './inspect-session.ts';
import { listCarried } from './list-carried.ts';
import { listLeases } from './list-leases.ts';
import { listSessions } from './list-sessions.ts';
import { sealsOf } from './move/open.ts';
import { openSession } from './open-session.ts';
import { raiseEpoch } from './raise-epoch.ts';
import { readEvents } from './read-events.ts';
import { recover } from './recover.ts';
import { release } from './release.ts';
import { requestDrain } from './request-drain.ts';
import { revoke } from './revoke.ts';
import { settleIntent } from './settle-intent.ts';
import { sweep } from './sweep.ts';
import { verify } from './verify.ts';
import { withdraw } from './withdraw.ts';

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
  full: 'the kill of any process, and of the machine (WAL, synchronous=FULL)',
  normal:
    'the kill of any process; the kill of the machine may take back the last answers (WAL, synchronous=NORMAL, as asked for)',
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
    sessions: sessionsOf(database),
    leases: leasesOf(database),
    executions: executionsOf(database),
    access: accessOf(database),
    seals: sealsOf(database),
    raiseEpoch: (request) => database.write((tx) => raiseEpoch(tx, request)),
    onHint: (listener) => database.listen(listener),
    close: () => database.close(),
  };
}

/** A clock, timers or dice of the caller's cannot be sent to another thread. */
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
    busyTimeoutMs: wholeNumber('busyTimeoutMs', busyTimeoutMs, { min: 0, max: 600_000 }),
    ...(options.onBoundary === undefined ? {} : { onBoundary: options.onBoundary }),
  };
}

function sessionsOf(database: Database): SessionStore {
  return {
    open: (request) => {
      const own = { ...request, metadata: { ...request.metadata } };
      return database.write((tx) => openSession(tx, own));
    },
    heartbeat: (request) => database.write((tx) => heartbeat(tx, request)),
    end: (request) => database.write((tx) => endSession(tx, request)),
    inspect: (id) => database.read((tx) => inspectSession(tx, id)),
    list: (query) => database.read((tx) => listSessions(tx, query)),
    leases: (id) => database.read((tx) => listCarried(tx, id)),
    sweep: (request) => database.write((tx) => sweep(tx, request)),
    recover: () => database.write((tx) => recover(tx)),
  };
}

function leasesOf(database: Database): LeaseStore {
  return {
    acquire: (request) => database.write((tx) => acquire(tx, request)),
    withdraw: (request) => database.write((tx) => withdraw(tx, request)),
    checkpoint: (request) => {
      // K-3: what the caller does to its bytes before the flush cannot reach what is stored.
      const own = { ...request, bytes: Uint8Array.from(request.bytes) };
      return database.write((tx) => checkpoint(tx, own));
    },
    beginIntent: (request) => database.write((tx) => beginIntent(tx, request)),
    settleIntent: (request) => database.write((tx) => settleIntent(tx, request)),
    release: (request) => database.write((tx) => release(tx, request)),
    requestDrain: (request) => database.write((tx) => requestDrain(tx, request)),
    revoke: (request) => database.write((tx) => revoke(tx, request)),
    inspect: (key) => database.read((tx) => inspectLease(tx, key)),
    verify: (request) => verify(database, request),
    events: (query) => database.read((tx) => readEvents(tx, query)),
    list: (query) => database.read((tx) => listLeases(tx, query)),
  };
}
