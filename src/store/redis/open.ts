// The Redis store (6.2 or newer): leases for any number of processes on one server or cluster. It
// keeps no executions. README.md beside this file describes its guarantees, and what a failover may
// lose.

import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import type { KernelStore, LeaseStore, SessionStore } from '../../lease/port.ts';
import { rejectUnknownOptions } from '../../support/options.ts';
import { acquire, withdraw } from './acquire.ts';
import {
  connect,
  durabilityOf,
  OPTION_NAMES,
  prefixOf,
  type RedisStoreOptions,
} from './connect.ts';
import { Database } from './database.ts';
import { Hints } from './hints.ts';
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
    recover: () => recover(database, policy),
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
