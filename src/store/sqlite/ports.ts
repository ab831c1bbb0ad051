// The verbs of an open database, on a file or in memory.

import type { EventPage, LeaseStore, ReadEvents } from '../../lease/port.ts';
import type { CoordinatorSessions, CoordinatorStore } from '../contract/execution-store.ts';
import { type EventRow, toEvent } from '../lease-rows.ts';
import { accessOf } from '../sql/access/open.ts';
import { leaseReadsOf } from '../sql/leases/reads.ts';
import { endSession, openSession } from '../sql/leases/sessions.ts';
import { extendLiving } from '../sql/leases/sweep.ts';
import { termsOf } from '../sql/leases/terms.ts';
import { acquire } from './acquire.ts';
import { checkpoint } from './checkpoint.ts';
import type { Database } from './database.ts';
import { executionsOf } from './executions/open.ts';
import { sealsOf } from './export/open-for-export.ts';
import { accessGatewayOf, leaseGatewayOf, play } from './gateway.ts';
import { heartbeat } from './heartbeat.ts';
import { raiseEpoch } from './recover.ts';
import { announceEnds, sweep } from './sweep.ts';
import type { ReadTransaction } from './transaction.ts';

type Ports = Omit<CoordinatorStore, 'kind' | 'policy' | 'durability' | 'hintsReach' | 'address'>;

export function portsOf(database: Database): Ports {
  return {
    sessions: sessionsOf(database),
    leases: leasesOf(database),
    executions: executionsOf(database),
    access: accessOf(accessGatewayOf(database)),
    seals: sealsOf(database),
    raiseEpoch: (request) => database.write((tx) => raiseEpoch(tx, request)),
    onHint: (listener) => database.hints.listen(listener),
    close: () => database.close(),
  };
}

function sessionsOf(database: Database): CoordinatorSessions {
  return {
    ...leaseReadsOf(leaseGatewayOf(database)).sessions,
    open: (request) => {
      const own = { ...request, metadata: { ...request.metadata } };
      return database.write((tx) => {
        tx.forgetSessions();
        return play(tx, openSession(own, tx.policy));
      });
    },
    heartbeat: (request) => database.write((tx) => heartbeat(tx, request)),
    end: (request) =>
      database.write((tx) => {
        const result = play(tx, endSession(request));
        if (result.kind === 'ended' && !result.replayed) announceEnds(tx);
        return result;
      }),
    sweep: (request) => database.write((tx) => sweep(tx, request)),
    recover: (request) =>
      database.write((tx) => ({ extended: play(tx, extendLiving(tx.policy, request)) })),
  };
}

function leasesOf(database: Database): LeaseStore {
  const gateway = leaseGatewayOf(database);
  return {
    ...leaseReadsOf(gateway).leases,
    ...termsOf(gateway, database.policy),
    acquire: (request) => database.write((tx) => acquire(tx, request)),
    checkpoint: (request) => {
      // Copy the bytes, so that a caller that changes its array before the flush cannot change the
      // stored value (K-3).
      const own = { ...request, bytes: Uint8Array.from(request.bytes) };
      return database.write((tx) => checkpoint(tx, own));
    },
    events: (query) => database.read((tx) => readEvents(tx, query)),
  };
}

// If all events were deleted, the oldest is the next one to be written.
const OLDEST = `
  select coalesce(
           (select min(seq) from event),
           (select seq + 1 from sqlite_sequence where name = 'event'),
           1) as oldest`;

const PAGE = `
  select seq, at, kind, key, fence, rev, session_id, owner, detail
    from event
   where seq > :after
   order by seq
   limit :limit`;

/**
 * Reads events in order from any point. A reader behind the retention gets `truncated`, so it never
 * misses events unnoticed (O-1).
 */
function readEvents(tx: ReadTransaction, query: ReadEvents): EventPage {
  const { after, limit } = query;
  const oldest = tx.get<{ oldest: number }>(OLDEST)?.oldest ?? 1;
  if (after + 1 < oldest) return { kind: 'truncated', oldest: oldest - 1 };
  const events = tx.all<EventRow>(PAGE, { after, limit }).map(toEvent);
  return { kind: 'events', events, next: events.at(-1)?.seq ?? after };
}
