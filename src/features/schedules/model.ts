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

/**
 * While the execution of the last time is open: `skip` this time, `buffer` one execution until the
 * open one has ended, `cancel` the open one and run after it, or `allow` a second execution.
 */
export type Overlap = (typeof OVERLAPS)[number];

export const OVERLAPS = ['skip', 'buffer', 'cancel', 'allow'] as const;

/** The holder of the last fire's key: its execution, or the continuation of that. */
export interface LastFire {
  readonly isOpen: boolean;
  readonly hasSlot: boolean;
  readonly slotKey?: string;
}

/**
 * Decides what a fire does. With `buffer` and `cancel`, executions of a schedule share
 * a concurrency key with one slot, so the new one waits for the open one. An open execution without
 * that slot waits itself, or belongs to an older plan.
 */
export function decideOverlap(
  overlap: Overlap,
  last: LastFire | undefined,
  slotKey: string | undefined,
): 'submit' | 'skip' | 'cancel' {
  if (last?.isOpen !== true || overlap === 'allow') return 'submit';
  if (overlap === 'skip' || slotKey === undefined || last.slotKey !== slotKey) return 'skip';
  if (overlap === 'cancel') return 'cancel';
  return last.hasSlot ? 'submit' : 'skip';
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
