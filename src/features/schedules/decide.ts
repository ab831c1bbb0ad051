// What becomes of a schedule that is paused or resumed. Pure.

import type { ScheduleRefusal } from '../../execution/refusal.ts';
import type { Schedule } from './model.ts';

export type ScheduleDecision =
  | { readonly kind: 'done' | 'no-change' | 'stale' }
  | ({ readonly kind: 'refused' } & ScheduleRefusal);

export function decidePauseSchedule(schedule: Schedule | undefined, id: string): ScheduleDecision {
  if (schedule === undefined) return { kind: 'refused', why: 'schedule-unknown', id };
  return { kind: schedule.paused ? 'no-change' : 'done' };
}

/** `stale`: the next time that came with the request is of another plan. */
export function decideResumeSchedule(
  schedule: Schedule | undefined,
  { id, digest }: { readonly id: string; readonly digest: string },
): ScheduleDecision {
  if (schedule === undefined) return { kind: 'refused', why: 'schedule-unknown', id };
  if (!schedule.paused) return { kind: 'no-change' };
  return { kind: schedule.digest === digest ? 'done' : 'stale' };
}
