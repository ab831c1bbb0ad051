// The model of leases: plain maps and the pure decisions. The tests compare the stores with it.

import { type LeasePolicy, resolvePolicy } from '../../../src/lease/policy.ts';
import type { KernelStore, LeaseStore, SessionStore } from '../../../src/lease/port.ts';
import { StoreClock } from '../../../src/store/sqlite/store-clock.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { acquire } from './acquire.ts';
import { beginIntent } from './begin-intent.ts';
import { checkpoint } from './checkpoint.ts';
import { endSession } from './end-session.ts';
import { heartbeat } from './heartbeat.ts';
import { inspectLease } from './inspect-lease.ts';
import { inspectSession } from './inspect-session.ts';
import { listCarried } from './list-carried.ts';
import { listLeases } from './list-leases.ts';
import { listSessions } from './list-sessions.ts';
import { openSession } from './open-session.ts';
import { raiseEpoch } from './raise-epoch.ts';
import { readEvents } from './read-events.ts';
import { recover } from './recover.ts';
import { release } from './release.ts';
import { requestDrain } from './request-drain.ts';
import { revoke } from './revoke.ts';
import { settleIntent } from './settle-intent.ts';
import { ModelState } from './state.ts';
import { sweep } from './sweep.ts';
import { verify } from './verify.ts';
import { withdraw } from './withdraw.ts';

/** Sessions and leases only. The model checks the policy as a store does. */
export function openLeaseModel(clock: Clock, given: Partial<LeasePolicy>): KernelStore {
  const policy = resolvePolicy(given);
  const storeClock = new StoreClock(clock);
  const state = new ModelState(() => storeClock.read(0), policy);
  return {
    kind: 'model',
    policy,
    durability: 'until the process ends',
    hintsReach: 'all-processes',
    sessions: sessionsOf(state),
    leases: leasesOf(state),
    raiseEpoch: async (request) => raiseEpoch(state, request),
    onHint(listener) {
      state.hints.add(listener);
      return () => state.hints.delete(listener);
    },
    close: async () => state.hints.clear(),
  };
}

function sessionsOf(state: ModelState): SessionStore {
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

function leasesOf(state: ModelState): LeaseStore {
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
