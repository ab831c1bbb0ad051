// How records change. Every change is a new record; what is unset is absent, never undefined.

import { type Instant, laterBy } from '../../support/clock.ts';
import type { ExecutionRecord, Hold, TerminalStatus } from '../execution.ts';
import type { HistoryEvent, NewEvent } from '../history.ts';

/** In the order in which every store lists them. */
const HOLDS: readonly Hold[] = ['paused', 'blocked', 'behind-key'];

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

/** queued is always ready at some time. */
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

/** Y-2: from here on it undoes; the deadline was for what it did. */
export function compensatingExecution(execution: ExecutionRecord): ExecutionRecord {
  return { ...unset(execution, 'deadlineAt'), compensating: true, compensable: false };
}

/** what every end does to the row itself, whoever ends it. The fence stays, to tell claims apart. */
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
    hasPlace: false,
    wakeAfter: 0,
    compensable: false,
  };
}

/** what a writer appends becomes history: the store's time, the claim's fence. */
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

/** Several of them, without gaps. */
export function historyEvents(
  events: readonly NewEvent[],
  from: Pick<HistoryEvent, 'at' | 'fence' | 'seq'>,
): readonly HistoryEvent[] {
  return events.map((event, index) => historyEvent(event, { ...from, seq: from.seq + index }));
}
