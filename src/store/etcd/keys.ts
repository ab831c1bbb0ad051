// Where everything is kept. Keys of one kind share a prefix, so that a list is a range; what others are
// told by a watch is below one prefix, so that one watch is enough.

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
    allLines: `${prefix}line/`,
    allFlaps: `${prefix}flap/`,
    allEvents: `${prefix}event/`,
  };
  const carriedBy = (id: SessionId): string => `${all.allCarried}${id}/`;
  const line = (key: LeaseKey): string => `${all.allLines}${digest(key)}/`;
  return {
    ...all,
    /** Store time, as it was last written. */
    clock: `${watched}clock`,
    /** Written by whoever wants to be told the time. */
    ask: `${watched}ask`,
    /** The last one of each key that was rung for. */
    hint: (key: LeaseKey): string => `${watched}hint/${digest(key)}`,
    /** Goes with the session's native lease. */
    pulse: (id: SessionId): string => all.pulses + id,
    /** The start of the sequence of fences; the revision at which it was written is its zero. */
    epoch: `${meta}epoch`,
    halt: `${meta}halt`,
    /** The cluster and the term of its leader that were last seen. */
    cluster: `${meta}cluster`,
    /** Written by every reclaim, so that they take turns. */
    reclaim: `${meta}reclaim`,
    eventsDeleted: `${meta}events-deleted`,
    /** A session that has not ended. */
    live: (id: SessionId): string => all.allLive + id,
    ended: (id: SessionId): string => all.allEnded + id,
    /** Ended sessions by time. */
    gone: (at: number, id: SessionId): string => `${all.allGone}${ordered(at)}/${id}`,
    /** Sessions that have ended and may still carry terms whose end is not written down. */
    ending: (id: SessionId): string => all.allEnding + id,
    /** Apart from the session, whose revision only its heartbeats may move. */
    notices: (id: SessionId): string => `${prefix}notices/${id}`,
    /** What a grant wrote, at the revision that is its fence. */
    term: (key: LeaseKey): string => all.allTerms + key,
    /** What changes during a term. */
    lease: (key: LeaseKey): string => `${prefix}lease/${key}`,
    bytes: (key: LeaseKey, slot: number): string => `${prefix}bytes${slot}/${key}`,
    carriedBy,
    carried: (id: SessionId, key: LeaseKey): string => carriedBy(id) + key,
    /** Terms with a deadline of their own, by time. */
    deadline: (at: number, key: LeaseKey): string => `${all.allDeadlines}${ordered(at)}/${key}`,
    retired: (at: number, key: LeaseKey): string => `${all.allRetired}${ordered(at)}/${key}`,
    line,
    ticket: (key: LeaseKey, attempt: AttemptId): string => line(key) + attempt,
    flap: (key: LeaseKey, owner: Owner): string => `${all.allFlaps}${digest(key)}/${digest(owner)}`,
    /**
     * Events by the revision of the clock under which they were written. They are ordered by their own
     * revision, which lies between that one and the next (O-1).
     */
    eventsUnder: (clockRevision: number): string => `${all.allEvents}${ordered(clockRevision)}/`,
  };
}

/** Whole numbers as text that sorts like them. */
function ordered(value: number): string {
  return String(value).padStart(16, '0');
}

/** The end of the range of all keys that start with this. */
export function afterPrefix(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  const last = end.length - 1;
  end[last] = (end[last] ?? 0) + 1;
  return end;
}

/** Fixed in length, so that one key's line is never part of another's. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 40);
}
