// The etcd store (3.4 or newer): any number of processes on one cluster, all keys below one prefix.
// It keeps sessions and leases, but no executions.

import type { ChannelCredentials } from '@grpc/grpc-js';
import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import type { KernelStore, LeaseStore, SessionStore } from '../../lease/port.ts';
import { type Clock, systemClock } from '../../support/clock.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { loadPackage } from '../../support/load-package.ts';
import { boundedText, integerOption, rejectUnknownOptions, shown } from '../../support/options.ts';
import { systemTimers } from '../../support/timer.ts';
import { acquire, withdraw } from './acquire.ts';
import { type Driver, EtcdClient } from './client.ts';
import { Connection } from './connection.ts';
import { Database } from './database.ts';
import { joinStore } from './join-store.ts';
import { keysUnder } from './keys.ts';
import { MEMBER_LIST, STATUS } from './messages.ts';
import { Pulses } from './pulses.ts';
import {
  inspectLease,
  inspectSession,
  listCarried,
  listLeases,
  listSessions,
  readEvents,
} from './reads.ts';
import { raiseEpoch, recover } from './recover.ts';
import { endSession, Heartbeats, openSession } from './sessions.ts';
import { sweep } from './sweep.ts';
import { termsOf } from './terms.ts';
import { Hints } from './watch.ts';

// Contains no type of the driver, so that users of the store's types do not need it installed.
/** Options of `openEtcdStore`. */
export interface EtcdStoreOptions {
  /** `http://host:2379` or `https://…` of each member, at least one. */
  readonly endpoints: readonly string[];
  /** All keys start with this. Must end in `/`. Default `holdfast/`. */
  readonly prefix?: string;
  /** Limits that differ from `DEFAULT_POLICY`. `checkpointBytesMax` is at most 1,048,576. */
  readonly policy?: Partial<LeasePolicy>;
  /**
   * For `https`, in PEM: `ca` (default: the system's), and this client's own `cert` and `key` if
   * etcd requires them.
   */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Milliseconds after which a call counts as unknown, 10 to 600,000. Default 3,000. */
  readonly callTimeoutMs?: number;
  /**
   * The clock, of which only the monotonic part is used. Default: the system's. Replace it in
   * tests.
   */
  readonly clock?: Clock;
  /** For tests: the shortest time of etcd's own leases, in seconds. Default 1. */
  readonly leaseSecondsMin?: number;
}

/**
 * Opens a lease store in etcd 3.4 or newer. It keeps no executions. Needs the package
 * `@grpc/grpc-js`.
 *
 * Throws `InvalidInput` for invalid options, and `StoreUnavailable` if no member can be reached.
 *
 * @example
 * const store = await openEtcdStore({ endpoints: ['http://127.0.0.1:2379'] });
 */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<KernelStore> {
  rejectUnknownOptions('openEtcdStore', options, [
    ...['endpoints', 'prefix', 'policy', 'tls', 'callTimeoutMs', 'clock', 'leaseSecondsMin'],
  ]);
  const policy = policyOf(options);
  const keys = keysUnder(prefixOf(options));
  const seconds = { min: 1, max: 86_400 };
  const leaseSecondsMin = integerOption('leaseSecondsMin', options.leaseSecondsMin ?? 1, seconds);
  const timeouts = { min: 10, max: 600_000 };
  const callTimeoutMs = integerOption('callTimeoutMs', options.callTimeoutMs ?? 3_000, timeouts);
  const client = await connect({ ...options, callTimeoutMs });
  const connection = new Connection(client, keys, options.clock ?? systemClock);
  const database = new Database(connection, policy);
  try {
    const durability = await describeDurability(client);
    const config = { clock: systemClock, timers: systemTimers, callTimeoutMs, leaseSecondsMin };
    const pulses = new Pulses(client, config);
    const hints = new Hints(connection);
    const joined = await joinStore(database, hints);
    const close = async (): Promise<void> => {
      await joined.leave();
      hints.close();
      client.close();
    };
    let closing: Promise<void> | undefined;
    // A clock cannot be sent to another thread.
    const { clock: _, ...sendable } = options;
    return {
      kind: 'etcd',
      policy,
      durability,
      address: { module: import.meta.url, open: 'openEtcdStore', options: sendable },
      hintsReach: 'all-processes',
      sessions: sessionsOf(database, pulses),
      leases: leasesOf(database, hints),
      raiseEpoch: (request) => raiseEpoch(database, request),
      onHint: (listener) => hints.listen(listener),
      close: () => {
        closing ??= close();
        return closing;
      },
    };
  } catch (fault) {
    client.close();
    throw fault;
  }
}

/** etcd limits a request to 1.5 MiB by default. */
const CHECKPOINT_BYTES_MAX = 1_048_576;

function policyOf(options: EtcdStoreOptions): LeasePolicy {
  const policy = resolvePolicy(options.policy);
  if (policy.checkpointBytesMax <= CHECKPOINT_BYTES_MAX) return policy;
  throw new InvalidInput(
    `policy.checkpointBytesMax must be ${CHECKPOINT_BYTES_MAX} at most on etcd, which takes no larger requests; got ${policy.checkpointBytesMax}.`,
  );
}

function prefixOf(options: EtcdStoreOptions): string {
  const prefix = boundedText('prefix', options.prefix ?? 'holdfast/', 256);
  if (prefix.endsWith('/')) return prefix;
  throw new InvalidInput(
    `prefix must end with "/", so that no other prefix is part of it; got ${shown(prefix)}.`,
  );
}

function sessionsOf(database: Database, pulses: Pulses): SessionStore {
  const heartbeats = new Heartbeats(database, pulses);
  return {
    open: (request) => openSession(database, pulses, request),
    heartbeat: (request) => heartbeats.beat(request),
    end: (request) => endSession(database, request),
    inspect: (id) => inspectSession(database, id),
    list: (query) => listSessions(database, query),
    leases: (id) => listCarried(database, id),
    sweep: (request) => sweep(database, request),
    recover: async ({ remote }) => (remote === true ? { extended: 0 } : recover(database)),
  };
}

function leasesOf(database: Database, hints: Hints): LeaseStore {
  return {
    ...termsOf(database, hints),
    acquire: (request) => acquire(database, request),
    withdraw: (request) => withdraw(database, request),
    inspect: (key) => inspectLease(database, key),
    events: (query) => readEvents(database, query),
    list: (query) => listLeases(database, query),
  };
}

// Creates a client from the options.

async function connect(
  options: Pick<EtcdStoreOptions, 'endpoints' | 'tls'> & { readonly callTimeoutMs: number },
): Promise<EtcdClient> {
  const urls = endpointsOf(options);
  const driver = await loadPackage(
    'The etcd store',
    '@grpc/grpc-js',
    () => import('@grpc/grpc-js'),
  );
  return new EtcdClient(driver, {
    targets: options.endpoints.map(targetOf),
    credentials: credentialsFor(urls, options, driver),
    callTimeoutMs: options.callTimeoutMs,
  });
}

/**
 * Takes the port from the text, because a parsed URL does not distinguish its scheme's default port
 * from no port.
 */
function targetOf(endpoint: string): string {
  const port = /:(\d+)\/?$/.exec(endpoint)?.[1] ?? '2379';
  return `${new URL(endpoint).hostname}:${port}`;
}

function endpointsOf({ endpoints }: Pick<EtcdStoreOptions, 'endpoints'>): readonly URL[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new InvalidInput(
      `endpoints must be an array of URLs, such as ['http://10.0.0.1:2379']; got ${shown(endpoints)}.`,
    );
  }
  const urls = endpoints.map((endpoint: unknown) => {
    const url = typeof endpoint === 'string' && URL.canParse(endpoint) ? new URL(endpoint) : null;
    if (url !== null && /^https?:$/.test(url.protocol)) return url;
    throw new InvalidInput(
      `endpoints must be http:// or https:// URLs, such as http://10.0.0.1:2379; got ${shown(endpoint)}.`,
    );
  });
  if (urls.some(({ username, password }) => username !== '' || password !== '')) {
    throw new InvalidInput(
      'endpoints must not have a user or a password. Use a client certificate: tls: { ca, cert, key }.',
    );
  }
  if (new Set(urls.map(({ protocol }) => protocol)).size > 1) {
    throw new InvalidInput('endpoints must be all http:// or all https://.');
  }
  return urls;
}

function credentialsFor(
  urls: readonly URL[],
  { tls }: Pick<EtcdStoreOptions, 'tls'>,
  driver: Driver,
): ChannelCredentials {
  if (tls !== undefined) rejectUnknownOptions('tls', tls, ['ca', 'cert', 'key']);
  const isPlain = urls[0]?.protocol === 'http:';
  if (isPlain && tls !== undefined) {
    throw new InvalidInput('tls needs https:// endpoints; these are http://.');
  }
  if (isPlain) return driver.credentials.createInsecure();
  const bytes = (pem: string | undefined): Buffer | null =>
    pem === undefined ? null : Buffer.from(pem);
  return driver.credentials.createSsl(bytes(tls?.ca), bytes(tls?.key), bytes(tls?.cert));
}

/** Reports durability: an acknowledged write is on the disks of more than half of the members. */
async function describeDurability(client: EtcdClient): Promise<string> {
  const { version } = await client.read(STATUS, {});
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 4)) {
    throw new Fault(
      'server-too-old',
      `Holdfast needs etcd 3.4 or newer; this is ${version}. Nothing was opened. Upgrade the server.`,
    );
  }
  const { members } = await client.read(MEMBER_LIST, {});
  const spare = Math.ceil(members.length / 2) - 1;
  return spare === 0
    ? `the end of every process, not the loss of a machine (etcd ${version}, ${members.length} members)`
    : `the loss of any ${spare} of ${members.length} machines (etcd ${version})`;
}
