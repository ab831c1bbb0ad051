// The part of the port that keeps schedules (X-32 … X-35).

import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { ScheduleExists } from '../../execution/refusal.ts';
import type { Command, Submit } from '../../store/contract/execution-store.ts';
import type { Instant } from '../../support/clock.ts';
import type { PutWithinQuota } from '../access/model.ts';
import type { Audited, AuditStamp } from '../audit/model.ts';
import type { Overlap, Schedule, ScheduleDecision } from './model.ts';

export interface ScheduleStore {
  /** Creates it, or replaces it if its digest differs. */
  putSchedule(request: PutSchedule): Promise<ScheduleWritten>;
  schedule(query: NamedSchedule): Promise<Schedule | undefined>;
  /** Sorted by id. */
  schedules(query: ListSchedules): Promise<readonly Schedule[]>;
  pauseSchedule(request: ScheduleCommand): Promise<ScheduleResult>;
  resumeSchedule(request: ResumeSchedule): Promise<ScheduleResult>;
  /** Executions that it submitted stay. */
  removeSchedule(request: ScheduleCommand): Promise<{ readonly kind: 'done' | 'no-change' }>;
  /** Due schedules, longest due first, and the time until the next. */
  dueSchedules(query: { readonly limit: number }): Promise<DueSchedules>;
  /** Submits for the due times and advances to the next. Only the first caller succeeds. */
  fireSchedule(request: FireSchedule): Promise<ScheduleFired>;
  /** Submits without moving the schedule, also while it is paused. */
  triggerSchedule(request: TriggerSchedule): Promise<ScheduleFired>;
}

export interface NamedSchedule {
  readonly project: ProjectName;
  readonly id: string;
}

export interface ScheduleCommand extends NamedSchedule, Audited {}

export interface PutSchedule extends ScheduleCommand {
  readonly plan: string;
  readonly digest: string;
  readonly nextAt: Instant;
  readonly actor?: string;
  /** Refuses to replace other content. */
  readonly ifExists?: 'refuse';
  /** The limit of schedules, unless the project's own settings differ (P-14). */
  readonly quota?: number;
}

export type ScheduleWritten = PutWithinQuota | ({ readonly kind: 'refused' } & ScheduleExists);

export interface ListSchedules {
  readonly project: ProjectName;
  /** Continues after this id. */
  readonly after?: string;
  readonly limit: number;
}

export interface ResumeSchedule extends ScheduleCommand {
  /** The digest of the plan from which `nextAt` follows. */
  readonly digest: string;
  readonly nextAt: Instant;
}

/**
 * The result of an operation on a schedule: `done`, `no-change`, `stale` (its plan has changed) or
 * `refused`.
 */
export type ScheduleResult = ScheduleDecision;

export interface DueSchedules {
  readonly now: Instant;
  readonly due: readonly Schedule[];
  /** The time until the next one that is not in `due`. */
  readonly nextInMs?: number;
}

interface ScheduleSubmits extends NamedSchedule {
  /** The digest of the plan that the request follows from. */
  readonly digest: string;
  /** One per time, in order, each with a key. Empty if those times are left out. */
  readonly submits: readonly Submit[];
  /** Applies while the last submitted execution, or its continuation, is open. */
  readonly overlap: Overlap;
  /** The record of a cancel, for the overlap `cancel`. */
  readonly cancel?: Pick<Command, 'body' | 'audit'>;
}

export interface FireSchedule extends ScheduleSubmits {
  /** The fire succeeds only if this is still the next time. */
  readonly expected: Instant;
  /** Absent when there is no next time. */
  readonly nextAt?: Instant;
  /** The last of those times. */
  readonly firedAt: Instant;
  /** Pauses the schedule with this record, and submits nothing, if the last execution failed. */
  readonly pause?: AuditStamp;
}

export interface TriggerSchedule extends ScheduleSubmits, Audited {
  /** Absent for a backfill: the last fire stays the same. */
  readonly firedAt?: Instant;
}

export type ScheduleFired =
  | { readonly kind: 'fired'; readonly ids: readonly ExecutionId[] }
  /** Advanced without a submission, because this execution is open. */
  | { readonly kind: 'skipped'; readonly open: ExecutionId }
  /** Paused without a submission, because this execution failed. */
  | { readonly kind: 'paused'; readonly failed: ExecutionId }
  /** Another caller advanced, changed, paused or removed it. */
  | { readonly kind: 'moved' };
