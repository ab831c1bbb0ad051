// The etcd store (3.4 or newer): any number of processes on one cluster, all keys below one prefix. It
// keeps sessions and leases; executions are not kept here.

import { resolvePolicy } from '../../lease/policy.ts';
import type { KernelStore, LeaseStore, SessionStore } from '../../lease/port.ts';
import { systemClock } from '../../support/clock.ts';
import { rejectUnknownOptions } from '../../support/options.ts';
import { systemTimers } from '../../support/timer.ts';
import { acquire, withdraw } from './acquire.ts';
import { checkpoint } from './checkpoint.ts';
import { connect, describeDurability } from './connect.ts';
import { Connection } from './connection.ts';
import { Database } from './database.ts';
import { endSession } from './end-session.ts';
import { Heartbeats } from './heartbeat.ts';
import { Hints } from './hints.ts';
import { beginIntent, settleIntent } from './intents.ts';
import { joinStore } from './join-store.ts';
import { Keys } from './keys.ts';
import { openSession } from './open-session.ts';
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
import { release } from './release.ts';
import { requestDrain } from './request-drain.ts';
import { revoke } from './revoke.ts';
import {
  callTimeoutOf,
  checkLimits,
  type EtcdStoreOptions,
  leaseSecondsMinOf,
  OPTION_NAMES,
  prefixOf,
} from './store-options.ts';
import { sweep } from './sweep.ts';
import { verify } from './verify.ts';

export type { EtcdStoreOptions } from './store-options.ts';

interface Parts {
  readonly database: Database;
  readonly pulses: Pulses;
  readonly hints: Hints;
  close(): Promise<void>;
}

export async function openEtcdStore(options: EtcdStoreOptions): Promise<KernelStore> {
  rejectUnknownOptions('openEtcdStore', options, OPTION_NAMES);
  const policy = resolvePolicy(options.policy);
  checkLimits(policy);
  const keys = new Keys(prefixOf(options));
  const leaseSecondsMin = leaseSecondsMinOf(options);
  const client = await connect(options);
  const connection = new Connection(client, keys, options.clock ?? systemClock);
  const database = new Database(connection, policy);
  try {
    const durability = await describeDurability(client);
    const callTimeoutMs = callTimeoutOf(options);
    const config = { clock: systemClock, timers: systemTimers, callTimeoutMs, leaseSecondsMin };
    const pulses = new Pulses(client, config);
    const hints = new Hints(connection);
    const joined = await joinStore(database, hints);
    const close = async (): Promise<void> => {
      await joined.leave();
      hints.close();
      client.close();
    };
    const { clock: _, ...sendable } = options; // A clock cannot be sent to a thread.
    const address = { module: import.meta.url, open: 'openEtcdStore', options: sendable };
    return storeOf({ database, pulses, hints, close }, { durability, address });
  } catch (fault) {
    client.close();
    throw fault;
  }
}

function storeOf(
  parts: Parts,
  about: Required<Pick<KernelStore, 'durability' | 'address'>>,
): KernelStore {
  let closing: Promise<void> | undefined;
  return {
    kind: 'etcd',
    policy: parts.database.policy,
    ...about,
    hintsReach: 'all-processes',
    sessions: sessionsOf(parts),
    leases: leasesOf(parts),
    raiseEpoch: (request) => raiseEpoch(parts.database, request),
    onHint: (listener) => parts.hints.listen(listener),
    close: () => {
      closing ??= parts.close();
      return closing;
    },
  };
}

function sessionsOf({ database, pulses }: Parts): SessionStore {
  const heartbeats = new Heartbeats(database, pulses);
  return {
    open: (request) => openSession(database, pulses, request),
    heartbeat: (request) => heartbeats.beat(request),
    end: (request) => endSession(database, request),
    inspect: (id) => inspectSession(database, id),
    list: (query) => listSessions(database, query),
    leases: (id) => listCarried(database, id),
    sweep: (request) => sweep(database, request),
    recover: () => recover(database),
  };
}

function leasesOf({ database, hints }: Parts): LeaseStore {
  return {
    acquire: (request) => acquire(database, request),
    withdraw: (request) => withdraw(database, request),
    checkpoint: (request) => checkpoint(database, request),
    beginIntent: (request) => beginIntent(database, request),
    settleIntent: (request) => settleIntent(database, request),
    release: async (request) => {
      const { answer, awaited } = await release(database, request);
      if (awaited) await hints.ring(request.key);
      return answer;
    },
    requestDrain: (request) => requestDrain(database, request),
    revoke: async (request) => {
      const { answer, awaited } = await revoke(database, request);
      if (awaited) await hints.ring(request.key);
      return answer;
    },
    inspect: (key) => inspectLease(database, key),
    verify: (request) => verify(database, request),
    events: (query) => readEvents(database, query),
    list: (query) => listLeases(database, query),
  };
}
