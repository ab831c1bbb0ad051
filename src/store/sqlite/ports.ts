// The verbs of an open database, on a file or in memory.

import type { LeaseStore, SessionStore } from '../../lease/port.ts';
import type { CoordinatorStore } from '../contract/execution-store.ts';
import { accessOf } from '../sql/access/open.ts';
import { acquire } from './acquire.ts';
import { beginIntent } from './begin-intent.ts';
import { checkpoint } from './checkpoint.ts';
import type { Database } from './database.ts';
import { endSession } from './end-session.ts';
import { executionsOf } from './executions/open.ts';
import { accessGatewayOf } from './gateway.ts';
import { heartbeat } from './heartbeat.ts';
import { sealsOf } from './move/open-move.ts';
import { openSession } from './open-session.ts';
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
import { settleIntent } from './settle-intent.ts';
import { sweep } from './sweep.ts';
import { verify } from './verify.ts';
import { withdraw } from './withdraw.ts';

type Ports = Omit<CoordinatorStore, 'kind' | 'policy' | 'durability' | 'hintsReach' | 'address'>;

export function portsOf(database: Database): Ports {
  return {
    sessions: sessionsOf(database),
    leases: leasesOf(database),
    executions: executionsOf(database),
    access: accessOf(accessGatewayOf(database)),
    seals: sealsOf(database),
    raiseEpoch: (request) => database.write((tx) => raiseEpoch(tx, request)),
    onHint: (listener) => database.listen(listener),
    close: () => database.close(),
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
