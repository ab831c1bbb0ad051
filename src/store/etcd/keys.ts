// Where everything is kept. Keys of one kind share a prefix, so that a list is a range; what others are
// told by a watch is below one prefix, so that one watch is enough.

import { createHash } from 'node:crypto';
import type { AttemptId, LeaseKey, Owner, SessionId } from '../../lease/names.ts';

export class Keys {
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  /** Store time, as it was last written. */
  get clock(): string {
    return `${this.watched}clock`;
  }

  /** Written by whoever wants to be told the time. */
  get ask(): string {
    return `${this.watched}ask`;
  }

  get watched(): string {
    return `${this.prefix}w/`;
  }

  /** The last one of each key that was rung for. */
  hint(key: LeaseKey): string {
    return `${this.watched}hint/${digest(key)}`;
  }

  get pulses(): string {
    return `${this.watched}pulse/`;
  }

  /** Goes with the session's native lease. */
  pulse(id: SessionId): string {
    return this.pulses + id;
  }

  /** The start of the sequence of fences; the revision at which it was written is its zero. */
  get epoch(): string {
    return `${this.prefix}meta/epoch`;
  }

  get halt(): string {
    return `${this.prefix}meta/halt`;
  }

  /** The cluster and the term of its leader that were last seen. */
  get cluster(): string {
    return `${this.prefix}meta/cluster`;
  }

  /** Written by every reclaim, so that they take turns. */
  get reclaim(): string {
    return `${this.prefix}meta/reclaim`;
  }

  get eventsDeleted(): string {
    return `${this.prefix}meta/events-deleted`;
  }

  get allLive(): string {
    return `${this.prefix}live/`;
  }

  /** A session that has not ended. */
  live(id: SessionId): string {
    return this.allLive + id;
  }

  get allEnded(): string {
    return `${this.prefix}ended/`;
  }

  ended(id: SessionId): string {
    return this.allEnded + id;
  }

  get allGone(): string {
    return `${this.prefix}gone/`;
  }

  /** Ended sessions by time. */
  gone(at: number, id: SessionId): string {
    return `${this.allGone}${ordered(at)}/${id}`;
  }

  get allEnding(): string {
    return `${this.prefix}ending/`;
  }

  /** Sessions that have ended and may still carry terms whose end is not written down. */
  ending(id: SessionId): string {
    return this.allEnding + id;
  }

  get allNotices(): string {
    return `${this.prefix}notices/`;
  }

  /** Apart from the session, whose revision only its heartbeats may move. */
  notices(id: SessionId): string {
    return this.allNotices + id;
  }

  get allTerms(): string {
    return `${this.prefix}term/`;
  }

  /** What a grant wrote, at the revision that is its fence. */
  term(key: LeaseKey): string {
    return this.allTerms + key;
  }

  get allLeases(): string {
    return `${this.prefix}lease/`;
  }

  /** What changes during a term. */
  lease(key: LeaseKey): string {
    return this.allLeases + key;
  }

  bytes(key: LeaseKey, slot: number): string {
    return `${this.prefix}bytes${slot}/${key}`;
  }

  get allCarried(): string {
    return `${this.prefix}carried/`;
  }

  carriedBy(id: SessionId): string {
    return `${this.allCarried}${id}/`;
  }

  carried(id: SessionId, key: LeaseKey): string {
    return this.carriedBy(id) + key;
  }

  get allDeadlines(): string {
    return `${this.prefix}deadline/`;
  }

  /** Terms with a deadline of their own, by time. */
  deadline(at: number, key: LeaseKey): string {
    return `${this.allDeadlines}${ordered(at)}/${key}`;
  }

  get allRetired(): string {
    return `${this.prefix}retired/`;
  }

  retired(at: number, key: LeaseKey): string {
    return `${this.allRetired}${ordered(at)}/${key}`;
  }

  get allLines(): string {
    return `${this.prefix}line/`;
  }

  line(key: LeaseKey): string {
    return `${this.allLines}${digest(key)}/`;
  }

  ticket(key: LeaseKey, attempt: AttemptId): string {
    return this.line(key) + attempt;
  }

  get allFlaps(): string {
    return `${this.prefix}flap/`;
  }

  flap(key: LeaseKey, owner: Owner): string {
    return `${this.allFlaps}${digest(key)}/${digest(owner)}`;
  }

  get allEvents(): string {
    return `${this.prefix}event/`;
  }

  /**
   * Events by the revision of the clock under which they were written. They are ordered by their own
   * revision, which lies between that one and the next (O-1).
   */
  eventsUnder(clockRevision: number): string {
    return `${this.allEvents}${ordered(clockRevision)}/`;
  }
}

/** Whole numbers as text that sorts like them. */
export function ordered(value: number): string {
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
