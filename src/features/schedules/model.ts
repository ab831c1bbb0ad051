// Schedules: when something is submitted by itself. A store keeps when the next time is and moves it; what
// comes after it, and what is submitted, the engine says.

import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { ScheduleRefusal } from '../../execution/refusal.ts';
import type { Instant } from '../../support/clock.ts';

export interface Schedule {
  readonly project: ProjectName;
  readonly id: string;
  /** When and what, as the engine has written it; stores never look inside. */
  readonly plan: string;
  /** Of the plan, before any codec: whether two are the same is decided by this. */
  readonly digest: string;
  readonly paused: boolean;
  /** Absent while it is paused, and when no time is left. */
  readonly nextAt?: Instant;
  /** The time of the last fire: when it was due. */
  readonly firedAt?: Instant;
  /** What the last fire submitted. */
  readonly lastExecution?: ExecutionId;
  readonly createdAt: Instant;
  /** Who put it there. */
  readonly by?: string;
}

// What becomes of a schedule that is paused or resumed. Pure.

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
