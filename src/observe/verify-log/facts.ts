// The facts of one or more logs, in their authoritative order: events by the store's numbers,
// reports as their process wrote them. Each keeps its position.

import type { LeaseEvent } from '../../lease/event.ts';
import type { Fence } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { GrantReport, OperationReport } from '../../lease/observer.ts';
import type { HeaderEntry, LocatedEntry, Place } from '../lease-log/entry.ts';

type Located<Fact> = Fact & { readonly place: Place };
export type EventOf<Kind extends LeaseEvent['kind']> = Located<Extract<LeaseEvent, { kind: Kind }>>;
export type LoggedOperation = Located<OperationReport & { readonly at: number }>;

/** A grant as its holder received it. */
export type ReportedGrant = LoggedOperation & {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly granted: GrantReport;
};

/** One term as the store recorded it. */
export interface RecordedTerm {
  readonly granted: EventOf<'acquired'>;
  readonly ended: EventOf<'ended'> | undefined;
  /** Also absent if events between the two are missing. */
  readonly predecessor: EventOf<'acquired'> | undefined;
  readonly successor: EventOf<'acquired'> | undefined;
}

export interface Facts {
  readonly events: readonly Located<LeaseEvent>[];
  readonly operations: readonly LoggedOperation[];
  /** The terms of each key in the order of their grants. */
  readonly terms: ReadonlyMap<string, readonly RecordedTerm[]>;
  readonly termOf: ReadonlyMap<Fence, RecordedTerm>;
  readonly reported: readonly ReportedGrant[];
  /** The first reported grant of each fence. */
  readonly reportedOf: ReadonlyMap<Fence, ReportedGrant>;
  readonly conflicts: readonly Violation[];
  /** The log starts after the store's first event, so earlier events are unknown. */
  readonly startsLate: boolean;
  /** The ends of gaps: events up to and including each of these may be missing. */
  readonly missedUntil: readonly number[];
  /** The number of entries that the recorder dropped. */
  readonly dropped: number;
  /** Up to this store time, the record is complete. */
  readonly completeUntil: number;
}

/** The number of gaps before this event. Knowledge from before a gap is not certain after it. */
export function missesBefore({ missedUntil }: Pick<Facts, 'missedUntil'>, seq: number): number {
  return missedUntil.filter((until) => until < seq).length;
}

export class FactCollector {
  readonly #segments: Segments = new Segments();
  readonly #events: Map<number, Located<LeaseEvent>> = new Map();
  readonly #operations: { readonly segment: Segment; readonly item: LoggedOperation }[] = [];
  readonly #conflicts: Violation[] = [];
  readonly #missedUntil: Set<number> = new Set();
  #dropped = 0;

  add(entry: LocatedEntry): void {
    const segment = this.#segments.segmentOf(entry);
    if (segment === undefined) return;
    const { place } = entry;
    if (entry.kind === 'event') this.#addEvent({ ...entry.event, place });
    else if (entry.kind === 'dropped') this.#dropped += entry.count;
    else if (entry.kind === 'missed') this.#missedUntil.add(entry.until);
    else if (entry.kind === 'report' && entry.report.kind === 'dropped') {
      this.#dropped += entry.report.count;
    } else if (entry.kind === 'report' && entry.report.kind === 'operation') {
      this.#operations.push({ segment, item: { ...entry.report, place } });
    }
  }

  /** Two recordings may contain the same event, but must agree about it. */
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
    // A recorder that has the last event of another's gap has recorded everything before it.
    const missedUntil = [...this.#missedUntil].filter((until) => !this.#events.has(until));
    const terms = termsOf(events, missedUntil);
    const termOf = new Map<Fence, RecordedTerm>();
    for (const term of [...terms.values()].flat()) {
      // If a fence was issued twice, the first grant is the reference.
      const known = termOf.get(term.granted.fence)?.granted.seq ?? Number.POSITIVE_INFINITY;
      if (term.granted.seq < known) termOf.set(term.granted.fence, term);
    }
    const operations = inWritingOrder(this.#operations);
    const reported = operations.filter(isReportedGrant);
    const reportedOf = new Map<Fence, ReportedGrant>();
    for (const grant of reported)
      if (!reportedOf.has(grant.fence)) reportedOf.set(grant.fence, grant);
    const startsLate = (events[0]?.seq ?? 1) > 1;
    const isComplete = !startsLate && missedUntil.length === 0 && this.#dropped === 0;
    return {
      events,
      operations,
      terms,
      termOf,
      reported,
      reportedOf,
      conflicts: this.#conflicts,
      startsLate,
      missedUntil,
      dropped: this.#dropped,
      completeUntil: isComplete ? latest(events) : Number.NEGATIVE_INFINITY,
    };
  }
}

function isReportedGrant(operation: LoggedOperation): operation is ReportedGrant {
  const { granted, fence, key } = operation;
  return granted !== undefined && fence !== undefined && key !== undefined;
}

function latest(events: readonly Located<LeaseEvent>[]): number {
  let at = Number.NEGATIVE_INFINITY;
  for (const event of events) at = Math.max(at, event.at);
  return at;
}

/**
 * Pairs the grants of each key with the first end recorded for them. Another check finds wrong
 * ends.
 */
function termsOf(
  events: readonly Located<LeaseEvent>[],
  missedUntil: readonly number[],
): ReadonlyMap<string, readonly RecordedTerm[]> {
  const grants = new Map<string, EventOf<'acquired'>[]>();
  const ends = new Map<Fence, EventOf<'ended'>>();
  for (const event of events) {
    if (event.kind === 'ended' && !ends.has(event.fence)) ends.set(event.fence, event);
    if (event.kind !== 'acquired') continue;
    const ofKey = grants.get(event.key) ?? [];
    ofKey.push(event);
    grants.set(event.key, ofKey);
  }
  const misses = ({ seq }: { readonly seq: number }): number => missesBefore({ missedUntil }, seq);
  const entries = [...grants].map(([key, ofKey]): [string, readonly RecordedTerm[]] => [
    key,
    ofKey.map((granted, index) => {
      const before = ofKey[index - 1];
      const isSure = before !== undefined && misses(before) === misses(granted);
      return {
        granted,
        ended: ends.get(granted.fence),
        predecessor: isSure ? before : undefined,
        successor: ofKey[index + 1],
      };
    }),
  ]);
  return new Map(entries);
}

function withoutPlace({ place: _, ...event }: Located<LeaseEvent>): string {
  return JSON.stringify(Object.entries(event).sort(([a], [b]) => (a < b ? -1 : 1)));
}

// Assigns entries to the runs of their writers. Logs come in any order, as rotated files or as
// copies. So entries that were read before are skipped, and each writer's entries are put back in
// order.

/** The entries from one header to the next. */
interface Segment {
  /** The same for all segments of one writer. */
  readonly writer: number;
  readonly part: number;
}

interface Known extends Segment {
  /** The numbers of the lines after the header that were read. */
  readonly lines: Set<number>;
}

class Segments {
  readonly #known: Map<string, Known> = new Map();
  readonly #writers: Map<string, number> = new Map();
  /** The current position in each file. */
  readonly #current: Map<string, { readonly segment: Known; readonly headerLine: number }> =
    new Map();

  /** Returns undefined if this line or its copy was read before. */
  segmentOf(entry: LocatedEntry): Segment | undefined {
    const { place } = entry;
    if (entry.kind === 'header') this.#begin(entry, place);
    const current = this.#current.get(place.log) ?? this.#unheaded(place);
    const line = place.line - current.headerLine;
    if (current.segment.lines.has(line)) return undefined;
    current.segment.lines.add(line);
    return current.segment;
  }

  #begin({ writer, part = 0 }: HeaderEntry, { log, line }: Place): void {
    const segment = this.#segment(writer ?? `${log}:${line}`, part);
    this.#current.set(log, { segment, headerLine: line });
  }

  /** For entries that were not read from a file. */
  #unheaded({ log }: Place): { readonly segment: Known; readonly headerLine: number } {
    const current = { segment: this.#segment(log, 0), headerLine: 0 };
    this.#current.set(log, current);
    return current;
  }

  #segment(writer: string, part: number): Known {
    const name = `${part} ${writer}`;
    const number = this.#writers.get(writer) ?? this.#writers.size;
    this.#writers.set(writer, number);
    const segment = this.#known.get(name) ?? { writer: number, part, lines: new Set() };
    this.#known.set(name, segment);
    return segment;
  }
}

function inWritingOrder<Item>(
  items: readonly { readonly segment: Segment; readonly item: Item }[],
): readonly Item[] {
  const order = (a: Segment, b: Segment): number => a.writer - b.writer || a.part - b.part;
  return [...items].sort((a, b) => order(a.segment, b.segment)).map(({ item }) => item);
}

// The result of a check: the violated rule, the position, and the observation.

/**
 * A rule that a log violates.
 *
 * - `overlapping-tenure`: two terms of one key were open at once.
 * - `authority-overlap`: a holder had authority when another was let in.
 * - `fence-order`: a later grant of a key has a lower fence.
 * - `fence-reissued`: one fence was granted twice.
 * - `ended-twice`: a term ended twice.
 * - `opened-twice`: a session id was opened twice.
 * - `end-without-grant`: a term ended that was never granted.
 * - `predecessor-chain`: the successor got another predecessor or exit than the store recorded.
 * - `checkpoint-order`: a checkpoint was accepted that is not newer than the one before it.
 * - `checkpoint-lineage`: the successor did not get the saved checkpoint.
 * - `stale-write-accepted`: a write was accepted after its term had ended.
 * - `foreign-write-accepted`: a write was accepted under a fence of another session or key.
 * - `conflicting-event`: two logs have different events with one number.
 */
export type ViolatedRule =
  | 'overlapping-tenure'
  | 'authority-overlap'
  | 'fence-order'
  | 'fence-reissued'
  | 'ended-twice'
  | 'opened-twice'
  | 'end-without-grant'
  | 'predecessor-chain'
  | 'checkpoint-order'
  | 'checkpoint-lineage'
  | 'stale-write-accepted'
  | 'foreign-write-accepted'
  | 'grant-not-recorded'
  | 'granted-after-end'
  | 'renewed-after-end'
  | 'conflicting-event';

/** A violated rule and where. */
export interface Violation {
  /** The rule. */
  readonly rule: ViolatedRule;
  /** The violation, for people. */
  readonly what: string;
  /** The entry. */
  readonly place: Place;
  /** The entry that it conflicts with. */
  readonly against?: Place;
  /** The key. */
  readonly key?: LeaseKey;
  /** The fence. */
  readonly fence?: Fence;
  /** The session. */
  readonly session?: SessionId;
}
