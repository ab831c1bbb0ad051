// An execution that nobody runs starts to undo what it did (Y-3). Pure.

import type { Instant } from '../../support/clock.ts';
import type { ExecutionRecord } from '../execution.ts';
import type { HistoryEvent } from '../history.ts';
import type { Payload } from '../names.ts';
import { compensatingExecution, historyEvent, queuedAt } from './record.ts';

export interface TurnedBack {
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
}

/** Of a queued or waiting execution; `cause` is the body of the event. */
export function turnBack(execution: ExecutionRecord, cause: Payload, now: Instant): TurnedBack {
  const seq = execution.seq + 1;
  const event = historyEvent({ kind: 'compensating', body: cause }, { seq, at: now });
  const queued = queuedAt({ ...execution, wakeAfter: 0 }, now);
  return { execution: { ...compensatingExecution(queued), seq }, event };
}
