// The part of the port that keeps schedules (X-32 … X-35).

import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { Submit } from '../../store/contract/execution-store.ts';
import type { Instant } from '../../support/clock.ts';
import type { OverQuota } from '../access/model.ts';
import type { Audited } from '../audit/model.ts';
import type { Schedule, ScheduleDecision } from './model.ts';

export interface ScheduleStore {
  /** Made, or changed when its digest is another one. */
  putSchedule(request: PutSchedule): Promise<SchedulePut>;
  schedule(query: NamedSchedule): Promise<Schedule | undefined>;
  /** By id. */
  schedules(query: ListSchedules): Promise<readonly Schedule[]>;
  pauseSchedule(request: ScheduleCommand): Promise<ScheduleAnswer>;
  resumeSchedule(request: ResumeSchedule): Promise<ScheduleAnswer>;
  /** What it has submitted stays. */
  removeSchedule(request: ScheduleCommand): Promise<{ readonly kind: 'done' | 'no-change' }>;
  /** Whose time has come, the longest due first, and when the next one's will. */
  dueSchedules(query: { readonly limit: number }): Promise<DueSchedules>;
  /** Submits for the times that have come and moves on to the next, for whoever comes first. */
  fireSchedule(request: FireSchedule): Promise<ScheduleFired>;
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
  readonly by?: string;
  /** How many schedules its project may have, unless the project's own settings differ (P-14). */
  readonly quota?: number;
}

export type SchedulePut =
  /** Not changed when the same was there. */
  { readonly kind: 'put'; readonly changed: boolean } | ({ readonly kind: 'refused' } & OverQuota);

export interface ListSchedules {
  readonly project: ProjectName;
  /** Goes on after this id. */
  readonly after?: string;
  readonly limit: number;
}

export interface ResumeSchedule extends ScheduleCommand {
  /** Of the plan from which `nextAt` follows. */
  readonly digest: string;
  readonly nextAt: Instant;
}

/** `stale`: the plan is another one by now; nothing was changed. */
export type ScheduleAnswer = ScheduleDecision;

export interface DueSchedules {
  readonly now: Instant;
  readonly due: readonly Schedule[];
  /** Until the next one that is not among them. */
  readonly nextInMs?: number;
}

export interface FireSchedule extends NamedSchedule {
  /** The plan that all of this follows from. */
  readonly digest: string;
  /** It is moved on from here only. */
  readonly expected: Instant;
  /** Absent when there is no next time. */
  readonly nextAt?: Instant;
  /** One for each time, in order, each with a key; none when those times are left out. */
  readonly submits: readonly Submit[];
  /** The last of those times. */
  readonly firedAt: Instant;
  /** Nothing is submitted while what the last fire submitted, or was continued as, is open. */
  readonly skipsWhileOpen: boolean;
}

export type ScheduleFired =
  | { readonly kind: 'fired'; readonly ids: readonly ExecutionId[] }
  /** Moved on, and nothing was submitted: this one is open. */
  | { readonly kind: 'skipped'; readonly open: ExecutionId }
  /** Somebody else moved, changed, paused or removed it. */
  | { readonly kind: 'moved' };
