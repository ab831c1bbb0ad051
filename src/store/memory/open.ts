// The memory store: for tests, for the simulator, and for one process that wants leases among its
// own parts. It refuses as often as the durable stores do.

import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import type { LeaseStore, SessionStore } from '../../lease/port.ts';
import { type Clock, systemClock } from '../../support/clock.ts';
import { rejectUnknownOptions } from '../../support/options.ts';
import type { CoordinatorStore } from '../contract/execution-store.ts';
import { accessOf } from './access/open.ts';
import { acquire } from './acquire.ts';
import { beginIntent } from './begin-intent.ts';
import { checkpoint } from './checkpoint.ts';
import { endSession } from './end-session.ts';
import { openExecutions } from './executions/open.ts';
import { heartbeat } from './heartbeat.ts';
import { inspectLease } from './inspect-lease.ts';
import { inspectSession } from './inspect-session.ts';
import { listCarried } from './list-carried.ts';
import { listLeases } from './list-leases.ts';
import { listSessions } from './list-sessions.ts';
import { unlessSealed } from './move/open.ts';
import { openSession } from './open-session.ts';
import { raiseEpoch } from './raise-epoch.ts';
import { readEvents } from './read-events.ts';
import { recover } from './recover.ts';
import { release } from './release.ts';
import { requestDrain } from './request-drain.ts';
import { revoke } from './revoke.ts';
import { settleIntent } from './settle-intent.ts';
import { MemoryState } from './state.ts';
import { sweep } from './sweep.ts';
import { verify } from './verify.ts';
import { withdraw } from './withdraw.ts';

export interface MemoryStoreOptions {
  readonly policy?: Partial<LeasePolicy>;
  /** The clock that decides expiry; the host's unless a test brings its own. */
  readonly clock?: Clock;
}

export function openMemoryStore(options: MemoryStoreOptions = {}): CoordinatorStore {
  rejectUnknownOptions('openMemoryStore', options, ['policy', 'clock']);
  const policy = resolvePolicy(options.policy);
  const state = new MemoryState(options.clock ?? systemClock, policy);
  const { executions, state: kept, seals, close } = openExecutions(state);
  return {
    kind: 'memory',
    policy,
    durability: 'until the process ends',
    hintsReach: 'all-processes',
    sessions: unlessSealed(state, sessionsOf(state)),
    leases: unlessSealed(state, leasesOf(state)),
    executions,
    access: unlessSealed(state, accessOf(kept)),
    seals,
    ...unlessSealed(state, raisingOf(state)),
    onHint(listener) {
      state.hints.add(listener);
      return () => state.hints.delete(listener);
    },
    close: async () => {
      state.hints.clear();
      close();
    },
  };
}

function raisingOf(state: MemoryState): Pick<CoordinatorStore, 'raiseEpoch'> {
  return { raiseEpoch: async (request) => raiseEpoch(state, request) };
}

function sessionsOf(state: MemoryState): SessionStore {
  return {
    open: async (request) => openSession(state, request),
    heartbeat: async (request) => heartbeat(state, request),
    end: async (request) => endSession(state, request),
    inspect: async (id) => inspectSession(state, id),
    list: async (query) => listSessions(state, query),
    leases: async (id) => listCarried(state, id),
    sweep: async (request) => sweep(state, request),
    recover: async () => recover(state),
  };
}

function leasesOf(state: MemoryState): LeaseStore {
  return {
    acquire: async (request) => acquire(state, request),
    withdraw: async (request) => withdraw(state, request),
    checkpoint: async (request) => checkpoint(state, request),
    beginIntent: async (request) => beginIntent(state, request),
    settleIntent: async (request) => settleIntent(state, request),
    release: async (request) => release(state, request),
    requestDrain: async (request) => requestDrain(state, request),
    revoke: async (request) => revoke(state, request),
    inspect: async (key) => inspectLease(state, key),
    verify: async (request) => verify(state, request),
    events: async (query) => readEvents(state, query),
    list: async (query) => listLeases(state, query),
  };
}
