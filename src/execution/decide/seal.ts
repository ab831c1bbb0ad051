// What a seal does to an execution that runs (M-3). Pure.

import type { Instant } from '../../support/clock.ts';
import type { ExecutionRecord } from '../execution.ts';
import type { HistoryEvent } from '../history.ts';
import { GIVEN_BACK_BY_SEAL, OWES_COMPENSATION } from '../seal.ts';
import { historyEvent, queuedAt } from './record.ts';

/** Its owner can no longer say what it owes: whatever a step of it has registered is owed (Y-3). */
export function givenBackBySeal(
  execution: ExecutionRecord,
  history: readonly HistoryEvent[],
  now: Instant,
): { readonly execution: ExecutionRecord; readonly event: HistoryEvent } {
  const seq = history.length + 1;
  const owes = history.some(({ body }) => body?.includes(OWES_COMPENSATION) === true);
  const compensable = !execution.compensating && (execution.compensable || owes);
  const event = historyEvent(GIVEN_BACK_BY_SEAL, { seq, at: now });
  return { execution: { ...queuedAt(execution, now), compensable, seq }, event };
}
