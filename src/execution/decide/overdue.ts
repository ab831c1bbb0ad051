// Ends executions whose deadline has passed. Pure.

import { type TurnedBack, turnBack } from '../../features/repair/decide.ts';
import { type DeadLetter, deadLetterOf } from '../../features/repair/model.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import type { ExecutionRecord } from '../execution.ts';
import type { Failure } from '../failure.ts';
import type { HistoryEvent } from '../history.ts';
import type { Payload } from '../names.ts';
import { endedExecution, historyEvent } from './record.ts';

/** The reason when `maintain` cancels the open children of an ended execution. */
export const PARENT_ENDED: Payload = '{"by":"holdfast","reason":"parent-ended"}' as Payload;

export interface OverdueEnd {
  readonly kind: 'end';
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
  /** The message to the parent. */
  readonly outcome: Payload;
  readonly deadLetter: DeadLetter;
}

export type OverdueDecision = OverdueEnd | ({ readonly kind: 'turn-back' } & TurnedBack);

/** Only its owner ends a running execution; the owner knows the deadline. */
export function decideOverdue(
  execution: ExecutionRecord,
  now: Instant,
): OverdueDecision | undefined {
  const { status, deadlineAt } = execution;
  if (status !== 'queued' && status !== 'waiting') return undefined;
  if (deadlineAt === undefined || deadlineAt > now) return undefined;
  const failure: Failure = {
    category: 'permanent',
    code: 'deadline-passed',
    message: `Not ended by its deadline, ${formatInstant(deadlineAt)}.`,
  };
  if (execution.compensable) {
    const cause = JSON.stringify({ status: 'failed', failure }) as Payload;
    return { kind: 'turn-back', ...turnBack(execution, cause, now) };
  }
  const seq = execution.seq + 1;
  const body = JSON.stringify({ failure }) as Payload;
  const event = historyEvent({ kind: 'failed', body }, { seq, at: now });
  return {
    kind: 'end',
    execution: endedExecution(execution, { status: 'failed', now, seq }),
    event,
    outcome: JSON.stringify({ status: 'failed', failure }) as Payload,
    deadLetter: deadLetterOf(failure),
  };
}
