// A change of a schedule, in one transaction with its audit: locked first, so that what it was is known; whether
// anything is done is for the guards of the statement to say.

import { auditOf, changedSchedule } from '../../../execution/decide/audit.ts';
import type { Schedule } from '../../../execution/schedule.ts';
import type { Instant } from '../../../support/clock.ts';
import type { NamedSchedule, ScheduleCommand } from '../../contract/schedule-store.ts';
import { type ScheduleRow, toSchedule } from '../../schedule-rows.ts';
import { type Queries, type Statement, statement } from '../database.ts';
import { writeAudit } from './audit.ts';
import type { Parts } from './parts.ts';

export const SCHEDULE_COLUMNS =
  's.project, s.id, s.at, s.paused, s.next_at, s.fired_at, s.last_execution, s.digest, s.plan, s.put_by';

const LOCK = statement(`
  select ${SCHEDULE_COLUMNS}
    from hf.schedule s
   where s.project = $1
     and s.id = $2
     for update of s`);

interface Change {
  readonly statement: Statement;
  readonly values: readonly unknown[];
  /** A lock on the project's schedules, taken first. */
  readonly inTurn?: Statement;
}

/** What the statement left, and when; nothing of it when that is nothing. */
type LeftRow = Partial<ScheduleRow> & { readonly now: number; readonly was_there?: boolean };

/** Whether it did anything; then that is written down (J-1). */
export async function changeSchedule(
  parts: Parts,
  request: ScheduleCommand,
  asked: Change,
): Promise<boolean> {
  for (;;) {
    const isDone = await parts.database.attempt<boolean | undefined>(async (queries) => {
      if (asked.inTurn !== undefined) await queries.rows(asked.inTurn, [request.project]);
      const before = await lockSchedule(queries, request);
      const [left] = await queries.rows<LeftRow & object>(asked.statement, asked.values);
      if (left === undefined) return { keep: false, result: false };
      // Somebody put it there in between: what it was is not known.
      if (left.was_there === true && before === undefined)
        return { keep: false, result: undefined };
      const after = left.id === undefined ? undefined : toSchedule(left as ScheduleRow);
      const changed = changedSchedule(before, after);
      await writeAudit(queries, [auditOf(request, changed, left.now as Instant)]);
      return { keep: true, result: true };
    }, parts.boundaries);
    if (isDone !== undefined) return isDone;
  }
}

async function lockSchedule(
  queries: Queries,
  { project, id }: NamedSchedule,
): Promise<Schedule | undefined> {
  const [row] = await queries.rows<ScheduleRow & object>(LOCK, [project, id]);
  return row === undefined ? undefined : toSchedule(row);
}
