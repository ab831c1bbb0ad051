// The layout of keys. Keys of one kind share a prefix, so that a list is a range. Messages between
// clients share one prefix, so that one watch is enough.

import { createHash } from 'node:crypto';
import type { AttemptId, LeaseKey, Owner, SessionId } from '../../lease/names.ts';

export type KeySpace = ReturnType<typeof keysUnder>;

export function keysUnder(prefix: string) {
  const watched = `${prefix}w/`;
  const meta = `${prefix}meta/`;
  const all = {
    watched,
    pulses: `${watched}pulse/`,
    allLive: `${prefix}live/`,
    allEnded: `${prefix}ended/`,
    allGone: `${prefix}gone/`,
    allEnding: `${prefix}ending/`,
    allTerms: `${prefix}term/`,
    allCarried: `${prefix}carried/`,
    allDeadlines: `${prefix}deadline/`,
    allRetired: `${prefix}retired/`,
    allQueues: `${prefix}line/`,
    allFlaps: `${prefix}flap/`,
    allEvents: `${prefix}event/`,
  };
  const carriedBy = (id: SessionId): string => `${all.allCarried}${id}/`;
  const queue = (key: LeaseKey): string => `${all.allQueues}${digest(key)}/`;
  return {
    ...all,
    /** Store time, as it was last written. */
    clock: `${watched}clock`,
    /** Written by a client that asks for the time. */
    ask: `${watched}ask`,
    /** The last hint of each key. */
    hint: (key: LeaseKey): string => `${watched}hint/${digest(key)}`,
    /** Bound to the session's native lease. */
    pulse: (id: SessionId): string => all.pulses + id,
    /** The start of the fence sequence. The revision at which it was written is its zero. */
    epoch: `${meta}epoch`,
    halt: `${meta}halt`,
    /** The last seen cluster and raft term. */
    cluster: `${meta}cluster`,
    /** Written by every reclaim, so that they run one after the other. */
    reclaim: `${meta}reclaim`,
    eventsDeleted: `${meta}events-deleted`,
    /** A session that has not ended. */
    live: (id: SessionId): string => all.allLive + id,
    ended: (id: SessionId): string => all.allEnded + id,
    /** Ended sessions by time. */
    gone: (at: number, id: SessionId): string => `${all.allGone}${ordered(at)}/${id}`,
    /** Ended sessions that may still carry terms without a recorded end. */
    ending: (id: SessionId): string => all.allEnding + id,
    /** Separate from the session, because only heartbeats may change the revision of that key. */
    notices: (id: SessionId): string => `${prefix}notices/${id}`,
    /** The part of a lease that a grant writes. Its revision is the fence. */
    term: (key: LeaseKey): string => all.allTerms + key,
    /** The part of a lease that changes during a term. */
    lease: (key: LeaseKey): string => `${prefix}lease/${key}`,
    bytes: (key: LeaseKey, slot: number): string => `${prefix}bytes${slot}/${key}`,
    carriedBy,
    carried: (id: SessionId, key: LeaseKey): string => carriedBy(id) + key,
    /** Terms with their own deadline, by time. */
    deadline: (at: number, key: LeaseKey): string => `${all.allDeadlines}${ordered(at)}/${key}`,
    retired: (at: number, key: LeaseKey): string => `${all.allRetired}${ordered(at)}/${key}`,
    queue,
    ticket: (key: LeaseKey, attempt: AttemptId): string => queue(key) + attempt,
    flap: (key: LeaseKey, owner: Owner): string => `${all.allFlaps}${digest(key)}/${digest(owner)}`,
    /**
     * Events, grouped by the clock's revision at the time of writing. Their own revision orders
     * them, and lies between that one and the clock's next (O-1).
     */
    eventsUnder: (clockRevision: number): string => `${all.allEvents}${ordered(clockRevision)}/`,
  };
}

/** Formats whole numbers as text with the same order. */
function ordered(value: number): string {
  return String(value).padStart(16, '0');
}

/** The end of the range of all keys that start with this prefix. */
export function afterPrefix(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  const last = end.length - 1;
  end[last] = (end[last] ?? 0) + 1;
  return end;
}

/** Has a fixed length, so that the queue of one key is never part of another's. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 40);
}
