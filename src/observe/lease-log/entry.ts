// The lease log: one JSON object per line. A log contains the reports of one process, the events of
// a store, or both. `verify-log` and `advise` read any number of logs together.
//
//   {"kind":"header", …}   the first line of a file, and of each run that appends to it
//   {"kind":"report", …}   a report of the library to its observer
//   {"kind":"event", …}    an event of the store, in the store's order
//   {"kind":"dropped", …}  the number of entries before this line that were dropped
//   {"kind":"missed", …}   events of the store that were deleted before they could be recorded

import type { LeaseEvent } from '../../lease/event.ts';
import type { LeaseReport } from '../../lease/observer.ts';

export const LOG_VERSION = 1;

/** The first entry of each file, and of each process that continues one. */
export interface HeaderEntry {
  /** Always `header`. */
  readonly kind: 'header';
  /** The version of the format. */
  readonly version: number;
  /** When it was written, by the writer's wall clock in milliseconds. */
  readonly at: number;
  /** The id of the writer. */
  readonly writer?: string;
  /** Which of the writer's files this is, from 0. */
  readonly part?: number;
}

/** A report of the library. */
export interface ReportEntry {
  /** Always `report`. */
  readonly kind: 'report';
  /** The report. */
  readonly report: LeaseReport;
}

/** An event of the store. */
export interface EventEntry {
  /** Always `event`. */
  readonly kind: 'event';
  /** The event. */
  readonly event: LeaseEvent;
}

/** Entries that the recorder could not keep. */
export interface DroppedEntry {
  /** Always `dropped`. */
  readonly kind: 'dropped';
  /** When, by the writer's wall clock in milliseconds. */
  readonly at: number;
  /** How many. */
  readonly count: number;
}

/** Events that the store had deleted before the recorder read them. */
export interface MissedEntry {
  /** Always `missed`. */
  readonly kind: 'missed';
  /** When, by the writer's wall clock in milliseconds. */
  readonly at: number;
  /** The last event before them. */
  readonly after: number;
  /** The last one of them. */
  readonly until: number;
}

/** An entry of a lease log. */
export type LogEntry = HeaderEntry | ReportEntry | EventEntry | DroppedEntry | MissedEntry;

/** The place of an entry. */
export interface Place {
  /** The file. */
  readonly log: string;
  /** The line, from 1. */
  readonly line: number;
}

/** An entry and its `place`. */
export type LocatedEntry = LogEntry & { readonly place: Place };

/** A line that is not an entry of a lease log. */
export interface MalformedLine {
  /** Always `malformed`. */
  readonly kind: 'malformed';
  /** The place of the line. */
  readonly place: Place;
  /** The problem, for people. */
  readonly problem: string;
}

/**
 * Returns a place as text: `file:line`.
 *
 * @example
 * for await (const entry of readLeaseLog('./leases.log')) {
 *   if (entry.kind === 'malformed') console.error(showPlace(entry.place), entry.problem);
 * }
 */
export function showPlace({ log, line }: Place): string {
  return `${log}:${line}`;
}
