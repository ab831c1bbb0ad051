// Schedules submit at set times. The store keeps the next time and advances it. The engine computes
// the time after that, and the submission.

import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { ScheduleRefusal } from '../../execution/refusal.ts';
import type { Instant } from '../../support/clock.ts';

export interface Schedule {
  readonly project: ProjectName;
  readonly id: string;
  /** The times and the submission, as the engine wrote them. Stores never look inside. */
  readonly plan: string;
  /** The digest of the plan before any codec. Equal digests mean equal plans. */
  readonly digest: string;
  readonly paused: boolean;
  /** Absent while paused, and when no time is left. */
  readonly nextAt?: Instant;
  /** The due time of the last fire. */
  readonly firedAt?: Instant;
  /** The execution that the last fire submitted. */
  readonly lastExecution?: ExecutionId;
  readonly createdAt: Instant;
  /** The actor that put it. */
  readonly actor?: string;
}

// Decides pause and resume of a schedule. Pure.

export type ScheduleDecision =
  | { readonly kind: 'done' | 'no-change' | 'stale' }
  | ({ readonly kind: 'refused' } & ScheduleRefusal);

export function decidePauseSchedule(schedule: Schedule | undefined, id: string): ScheduleDecision {
  if (schedule === undefined) return { kind: 'refused', why: 'schedule-unknown', id };
  return { kind: schedule.paused ? 'no-change' : 'done' };
}

/** `stale`: the requested next time belongs to another plan. */
export function decideResumeSchedule(
  schedule: Schedule | undefined,
  { id, digest }: { readonly id: string; readonly digest: string },
): ScheduleDecision {
  if (schedule === undefined) return { kind: 'refused', why: 'schedule-unknown', id };
  if (!schedule.paused) return { kind: 'no-change' };
  return { kind: schedule.digest === digest ? 'done' : 'stale' };
}
