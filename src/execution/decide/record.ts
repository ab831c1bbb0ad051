// Changes to records. Every change makes a new record. An unset part is absent, never undefined.

import { type Instant, laterBy } from '../../support/clock.ts';
import type { ExecutionRecord, Hold, TerminalStatus } from '../execution.ts';
import type { HistoryEvent, NewEvent } from '../history.ts';

/** The order in which every store lists them. */
const HOLDS: readonly Hold[] = ['paused', 'blocked', 'concurrency-limit'];

type Unsettable = 'readyAt' | 'session' | 'key' | 'intent' | 'deadlineAt';

/** The record with some of its optional parts absent. */
export function unset(
  execution: ExecutionRecord,
  ...parts: readonly Unsettable[]
): ExecutionRecord {
  const copy: { -readonly [Part in keyof ExecutionRecord]: ExecutionRecord[Part] } = {
    ...execution,
  };
  for (const part of parts) delete copy[part];
  return copy;
}

export function withHold(execution: ExecutionRecord, hold: Hold): ExecutionRecord {
  const holds = HOLDS.filter((each) => each === hold || execution.holds.includes(each));
  return { ...execution, holds };
}

export function withoutHolds(
  execution: ExecutionRecord,
  ...gone: readonly Hold[]
): ExecutionRecord {
  return { ...execution, holds: execution.holds.filter((hold) => !gone.includes(hold)) };
}

/** A queued execution always has a time at which it is ready. */
export function queuedAt(execution: ExecutionRecord, readyAt: Instant): ExecutionRecord {
  return { ...unset(execution, 'session'), status: 'queued', readyAt };
}

export function queuedAfter(
  execution: ExecutionRecord,
  now: Instant,
  delayMs: number = 0,
): ExecutionRecord {
  return queuedAt(execution, laterBy(now, delayMs));
}

/** The execution undoes its steps from here on. The deadline covered only its own work (Y-2). */
export function compensatingExecution(execution: ExecutionRecord): ExecutionRecord {
  return { ...unset(execution, 'deadlineAt'), compensating: true, compensable: false };
}

/**
 * The changes that every end makes to the row, whichever component ends it. The fence stays,
 * to tell claims apart.
 */
export function endedExecution(
  execution: ExecutionRecord,
  end: { readonly status: TerminalStatus; readonly now: Instant; readonly seq: number },
): ExecutionRecord {
  return {
    ...unset(execution, 'readyAt', 'session'),
    status: end.status,
    endedAt: end.now,
    seq: end.seq,
    holds: [],
    gated: false,
    hasSlot: false,
    wakeAfter: 0,
    compensable: false,
  };
}

/** Adds the store's time and the claim's fence to an event. */
export function historyEvent(
  { kind, name, body }: NewEvent,
  { at, fence, seq }: Pick<HistoryEvent, 'at' | 'fence' | 'seq'>,
): HistoryEvent {
  return {
    seq,
    at,
    kind,
    ...(fence === undefined ? {} : { fence }),
    ...(name === undefined ? {} : { name }),
    ...(body === undefined ? {} : { body }),
  };
}

/** Several events, without gaps in seq. */
export function historyEvents(
  events: readonly NewEvent[],
  from: Pick<HistoryEvent, 'at' | 'fence' | 'seq'>,
): readonly HistoryEvent[] {
  return events.map((event, index) => historyEvent(event, { ...from, seq: from.seq + index }));
}
