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

export interface HeaderEntry {
  readonly kind: 'header';
  readonly version: number;
  /** The writer's wall clock. */
  readonly at: number;
  /** Who writes, and which of its files this is the beginning of: logs are given in any order. */
  readonly writer?: string;
  readonly part?: number;
}

export interface ReportEntry {
  readonly kind: 'report';
  readonly report: LeaseReport;
}

export interface EventEntry {
  readonly kind: 'event';
  readonly event: LeaseEvent;
}

export interface DroppedEntry {
  readonly kind: 'dropped';
  readonly at: number;
  readonly count: number;
}

/** After `after`, up to and with `until`: by retention, while nobody recorded. */
export interface MissedEntry {
  readonly kind: 'missed';
  readonly at: number;
  readonly after: number;
  readonly until: number;
}

export type LogEntry = HeaderEntry | ReportEntry | EventEntry | DroppedEntry | MissedEntry;

/** Where an entry stands, for whoever has to look at it. */
export interface Place {
  readonly log: string;
  readonly line: number;
}

export type LocatedEntry = LogEntry & { readonly place: Place };

export interface MalformedLine {
  readonly kind: 'malformed';
  readonly place: Place;
  readonly problem: string;
}

export function showPlace({ log, line }: Place): string {
  return `${log}:${line}`;
}
