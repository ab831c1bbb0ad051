// Rows of schedules, in one shape for both SQL stores.

import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import type { Schedule } from './model.ts';

export interface ScheduleRow {
  readonly project: string;
  readonly id: string;
  readonly at: number;
  readonly paused: number | boolean;
  readonly next_at: number | null;
  readonly fired_at: number | null;
  readonly last_execution: string | null;
  readonly digest: string;
  readonly plan: string;
  readonly put_by: string | null;
}

export function toSchedule(row: ScheduleRow): Schedule {
  return {
    project: row.project as ProjectName,
    id: row.id,
    plan: row.plan,
    digest: row.digest,
    paused: Boolean(row.paused),
    ...(row.next_at === null ? {} : { nextAt: toInstant(row.next_at) }),
    ...(row.fired_at === null ? {} : { firedAt: toInstant(row.fired_at) }),
    ...(row.last_execution === null ? {} : { lastExecution: row.last_execution as ExecutionId }),
    createdAt: toInstant(row.at),
    ...(row.put_by === null ? {} : { actor: row.put_by }),
  };
}

/**
 * Takes rows by next time, one more than the limit. Returns the due ones, and the time until the
 * next.
 */
export function dueOf(
  rows: readonly ScheduleRow[],
  now: Instant,
  limit: number,
): { readonly due: readonly Schedule[]; readonly nextInMs?: number } {
  const all = rows.map(toSchedule);
  const due = all.slice(0, limit).filter(({ nextAt }) => nextAt !== undefined && nextAt <= now);
  const next = all[due.length]?.nextAt;
  return { due, ...(next === undefined ? {} : { nextInMs: Math.max(0, next - now) }) };
}
