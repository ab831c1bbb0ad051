// The facts of one or more logs, in the order that counts: events as the store numbered them, reports
// by the session that made them. Everything keeps its place.

import type { LeaseEvent } from '../../lease/event.ts';
import type { Fence } from '../../lease/fence.ts';
import type { OperationReport } from '../../lease/observer.ts';
import type { LocatedEntry, Place } from '../lease-log/entry.ts';
import type { Violation } from './violation.ts';

export type Located<Fact> = Fact & { readonly place: Place };
export type EventOf<Kind extends LeaseEvent['kind']> = Located<Extract<LeaseEvent, { kind: Kind }>>;
export type Operation = Located<OperationReport & { readonly at: number }>;

/** One term as the store recorded it. */
export interface Term {
  readonly granted: EventOf<'acquired'>;
  readonly ended: EventOf<'ended'> | undefined;
  readonly predecessor: EventOf<'acquired'> | undefined;
  readonly successor: EventOf<'acquired'> | undefined;
}

export interface Facts {
  readonly events: readonly Located<LeaseEvent>[];
  readonly operations: readonly Operation[];
  /** Terms of each key in the order of their grants. */
  readonly terms: ReadonlyMap<string, readonly Term[]>;
  readonly termOf: ReadonlyMap<Fence, Term>;
  readonly conflicts: readonly Violation[];
  /** The log starts after the store's first event: what was before is not known. */
  readonly startsLate: boolean;
  /** Entries that the recorder could not keep. */
  readonly dropped: number;
}

export class FactCollector {
  readonly #events: Map<number, Located<LeaseEvent>> = new Map();
  readonly #operations: Operation[] = [];
  readonly #conflicts: Violation[] = [];
  #dropped = 0;

  add(entry: LocatedEntry): void {
    const { place } = entry;
    if (entry.kind === 'event') this.#addEvent({ ...entry.event, place });
    else if (entry.kind === 'dropped') this.#dropped += entry.count;
    else if (entry.kind === 'report' && entry.report.kind === 'dropped') {
      this.#dropped += entry.report.count;
    } else if (entry.kind === 'report' && entry.report.kind === 'operation') {
      this.#operations.push({ ...entry.report, place });
    }
  }

  /** Two recordings may hold the same event; they may not disagree about it. */
  #addEvent(event: Located<LeaseEvent>): void {
    const known = this.#events.get(event.seq);
    if (known === undefined) {
      this.#events.set(event.seq, event);
      return;
    }
    if (withoutPlace(known) === withoutPlace(event)) return;
    this.#conflicts.push({
      rule: 'conflicting-event',
      what: `event ${event.seq} is "${event.kind}" here and "${known.kind}" there, or differs in a field`,
      place: event.place,
      against: known.place,
    });
  }

  facts(): Facts {
    const events = [...this.#events.values()].sort((a, b) => a.seq - b.seq);
    const terms = termsOf(events);
    const termOf = new Map<Fence, Term>();
    for (const ofKey of terms.values())
      for (const term of ofKey) termOf.set(term.granted.fence, term);
    return {
      events,
      operations: this.#operations,
      terms,
      termOf,
      conflicts: this.#conflicts,
      startsLate: (events[0]?.seq ?? 1) > 1,
      dropped: this.#dropped,
    };
  }
}

/** Grants of each key with the first end recorded for them; wrong ends are found elsewhere. */
function termsOf(events: readonly Located<LeaseEvent>[]): ReadonlyMap<string, readonly Term[]> {
  const grants = new Map<string, EventOf<'acquired'>[]>();
  const ends = new Map<Fence, EventOf<'ended'>>();
  for (const event of events) {
    if (event.kind === 'ended' && !ends.has(event.fence)) ends.set(event.fence, event);
    if (event.kind !== 'acquired') continue;
    const ofKey = grants.get(event.key) ?? [];
    ofKey.push(event);
    grants.set(event.key, ofKey);
  }
  const entries = [...grants].map(([key, ofKey]): [string, readonly Term[]] => [
    key,
    ofKey.map((granted, index) => ({
      granted,
      ended: ends.get(granted.fence),
      predecessor: ofKey[index - 1],
      successor: ofKey[index + 1],
    })),
  ]);
  return new Map(entries);
}

function withoutPlace({ place: _, ...event }: Located<LeaseEvent>): string {
  return JSON.stringify(Object.entries(event).sort(([a], [b]) => (a < b ? -1 : 1)));
}
