// The Redis store (6.2 or newer): leases for any number of processes on one server or cluster. It
// keeps no executions. README.md beside this file describes its guarantees, and what a failover may
// lose.

import { epochOf } from '../../lease/fence.ts';
import type { LeaseKey } from '../../lease/names.ts';
import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import type { KernelStore, LeaseStore, SessionStore } from '../../lease/port.ts';
import { Listeners } from '../../support/listeners.ts';
import { rejectUnknownOptions } from '../../support/options.ts';
import { acquire, withdraw } from './acquire.ts';
import {
  connect,
  durabilityOf,
  OPTION_NAMES,
  prefixOf,
  type RedisClient,
  type RedisListener,
  type RedisStoreOptions,
} from './connect.ts';
import { Database } from './database.ts';
import { SERVER_TIME_LUA } from './lua.ts';
import {
  inspectLease,
  inspectSession,
  listCarried,
  listLeases,
  listSessions,
  readEvents,
} from './reads.ts';
import { adoptServer, raiseEpoch, recover } from './recover.ts';
import { demandFit, describeDurability } from './server-facts.ts';
import { endSession, heartbeat, openSession } from './sessions.ts';
import { sweep } from './sweep.ts';
import { termsOf } from './terms.ts';

export type { RedisClient, RedisStoreOptions } from './connect.ts';

/**
 * Opens a lease store in Redis 6.2 or newer, on one server or a cluster. It keeps no executions.
 * Needs the package `redis`.
 *
 * Throws `InvalidInput` for invalid options, and `StoreUnavailable` if the server cannot be
 * reached. A server that does not fit throws a `Fault` with code `server-too-old`,
 * `server-read-only` or `not-durable`.
 *
 * @example
 * const store = await openRedisStore({ url: 'redis://127.0.0.1:6379' });
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<KernelStore> {
  rejectUnknownOptions('openRedisStore', options, OPTION_NAMES);
  const policy = resolvePolicy(options.policy);
  const prefix = prefixOf(options);
  const wanted = durabilityOf(options);
  const connected = await connect(options);
  try {
    const nowLua = options.nowLua ?? SERVER_TIME_LUA;
    const database = new Database(connected.client, {
      prefix,
      nowLua,
      whyOffline: () => connected.whyOffline(),
    });
    demandFit(await database.describeServer(), wanted);
    const facts = await adoptServer(database, policy);
    const hints = new Hints(connected.client, (name) => database.keyOf(name));
    database.onFence = (fence) => void hints.announce(fence);
    await hints.announce(database.seen);
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      hints.close();
      await connected.close();
    };
    return {
      kind: 'redis',
      policy,
      durability: describeDurability(facts),
      hintsReach: 'all-processes',
      ...addressOf(options),
      sessions: sessionsOf(database, policy),
      leases: leasesOf(database, policy),
      raiseEpoch: (request) => raiseEpoch(database, request),
      onHint: (listener) => hints.listen(listener),
      close: () => {
        closing ??= close();
        return closing;
      },
    };
  } catch (fault) {
    await connected.close();
    throw fault;
  }
}

/** The caller's client cannot be sent to another thread. */
function addressOf(options: RedisStoreOptions): Pick<KernelStore, 'address'> {
  if (options.client !== undefined) return {};
  return { address: { module: import.meta.url, open: 'openRedisStore', options } };
}

function sessionsOf(database: Database, policy: LeasePolicy): SessionStore {
  return {
    open: (request) => openSession(database, policy, request),
    heartbeat: (request) => heartbeat(database, policy, request),
    end: (request) => endSession(database, request),
    inspect: (id) => inspectSession(database, id),
    list: (query) => listSessions(database, query),
    leases: (id) => listCarried(database, id),
    sweep: (request) => sweep(database, policy, request),
    recover: async ({ remote }) => (remote === true ? { extended: 0 } : recover(database, policy)),
  };
}

function leasesOf(database: Database, policy: LeasePolicy): LeaseStore {
  return {
    ...termsOf(database, policy),
    acquire: (request) => acquire(database, policy, request),
    withdraw: (request) => withdraw(database, request),
    inspect: (key) => inspectLease(database, key),
    events: (query) => readEvents(database, query),
    list: (query) => listLeases(database, query),
  };
}

// Hints that a key may be free. The scripts publish them if a session waits, and one connection
// listens. A hint may be lost, so waiters also poll.
//
// The same connection preserves the epoch if all keys are deleted. Each client subscribes to a
// channel named after the epoch that it knows. The script that begins a new store asks the server
// which of these channels have a subscriber (T-3).

class Hints {
  readonly #client: RedisClient;
  readonly #channel: string;
  readonly #epochChannel: string;
  readonly #listeners: Listeners<[LeaseKey]> = new Listeners();
  #listening: RedisListener | undefined;
  #epoch = 0;
  #closed = false;

  constructor(client: RedisClient, keyOf: (name: string) => string) {
    this.#client = client;
    this.#channel = keyOf('meta:hints');
    this.#epochChannel = keyOf('meta:epoch:');
  }

  /**
   * Subscribes to the channel of this fence's epoch. Resolves when the server knows it, or cannot
   * be reached.
   */
  async announce(fence: number): Promise<void> {
    const epoch = epochOf(fence);
    if (this.#closed || (epoch <= this.#epoch && this.#listening !== undefined)) return;
    this.#epoch = Math.max(this.#epoch, epoch);
    if (this.#listening === undefined) await this.#open();
    else await this.#subscribeToEpoch(this.#listening).catch(() => undefined);
  }

  listen(listener: (key: LeaseKey) => void): () => void {
    if (this.#closed) return () => undefined;
    if (this.#listening === undefined) void this.#open();
    return this.#listeners.listen(listener);
  }

  /** Closes even if it is not connected yet, because an unavailable server would never connect. */
  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    if (this.#listening !== undefined) drop(this.#listening);
    this.#listening = undefined;
  }

  /** The client reopens a lost connection. Until then, waiters only poll. */
  async #open(): Promise<void> {
    const listening = this.#client.duplicate() as RedisListener;
    this.#listening = listening;
    listening.on('error', () => undefined);
    try {
      await listening.connect();
      await listening.subscribe(this.#channel, (message) =>
        this.#listeners.call(message as LeaseKey),
      );
      await this.#subscribeToEpoch(listening);
      if (!this.#closed) return;
    } catch {
      this.#listening = undefined;
    }
    drop(listening);
  }

  /** No message is ever published on this channel. */
  async #subscribeToEpoch(listening: RedisListener): Promise<void> {
    await listening.subscribe(`${this.#epochChannel}${this.#epoch}`, () => undefined);
  }
}

/** Some clients throw if they are destroyed twice, some reject later. */
function drop(listening: RedisListener): void {
  Promise.resolve()
    .then(() => listening.destroy())
    .catch(() => undefined);
}
