import { changedSchedule } from '../../../execution/decide/audit.ts';
import { decidePauseSchedule, decideResumeSchedule } from '../../../execution/decide/schedule.ts';
import type { Schedule } from '../../../execution/schedule.ts';
import type {
  ListSchedules,
  NamedSchedule,
  PutSchedule,
  ResumeSchedule,
  ScheduleAnswer,
  ScheduleCommand,
  SchedulePut,
} from '../../contract/schedule-store.ts';
import { type ScheduleRow, toSchedule } from '../../schedule-rows.ts';
import { limitOf } from '../access/usage.ts';
import type { Parameters } from '../connection.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';
import { writeAudit } from './audit.ts';

const COLUMNS = 'project, id, at, paused, next_at, fired_at, last_execution, digest, plan, put_by';

const IS_THERE = 'exists (select 1 from schedule where project = :project and id = :id)';
const USED = '(select count(*) from schedule where project = :project)';
const LIMIT = limitOf('schedules');

// what was paused stays paused, and the last fire stays known.
const PUT = `
  insert into schedule (project, id, at, paused, next_at, digest, plan, put_by)
  select :project, :id, :now, 0, :nextAt, :digest, :plan, :by
   where (:quota is null or ${IS_THERE} or ${USED} < ${LIMIT}) -- guard: quota
  on conflict (project, id) do update
     set next_at = case when paused = 0 then excluded.next_at end,
         digest = excluded.digest,
         plan = excluded.plan,
         put_by = excluded.put_by
   where schedule.digest <> excluded.digest -- guard: content`;

const ROOM = `select ${IS_THERE} as is_there, ${LIMIT} as quota`;

const READ = `
  select ${COLUMNS}
    from schedule
   where project = :project
     and id = :id`;

const LIST = `
  select ${COLUMNS}
    from schedule
   where project = :project
     and id > :after
   order by id
   limit :limit`;

const PAUSE = `
  update schedule
     set paused = 1,
         next_at = null
   where project = :project
     and id = :id
     and paused = 0 -- guard: not-paused`;

const RESUME = `
  update schedule
     set paused = 0,
         next_at = :nextAt
   where project = :project
     and id = :id
     and digest = :digest -- guard: plan
     and paused = 1 -- guard: paused`;

const REMOVE = 'delete from schedule where project = :project and id = :id';

export function putSchedule(tx: Transaction, request: PutSchedule): SchedulePut {
  const { project, id, plan, digest, nextAt, by, quota = null } = request;
  const values = { project, id, plan, digest, nextAt, quota, by: by ?? null, now: tx.now };
  if (change(tx, request, { sql: PUT, values })) return { kind: 'put', changed: true };
  const room = tx.get<{ is_there: number; quota: number }>(ROOM, { project, id, quota });
  return room === undefined || room.is_there === 1
    ? { kind: 'put', changed: false }
    : { kind: 'refused', why: 'over-quota', project, quota: 'schedules', limit: room.quota };
}

export function schedule(
  tx: ReadTransaction,
  { project, id }: NamedSchedule,
): Schedule | undefined {
  const row = tx.get<ScheduleRow>(READ, { project, id });
  return row === undefined ? undefined : toSchedule(row);
}

export function schedules(tx: ReadTransaction, query: ListSchedules): readonly Schedule[] {
  const { project, limit } = query;
  return tx.all<ScheduleRow>(LIST, { project, limit, after: query.after ?? '' }).map(toSchedule);
}

export function pauseSchedule(tx: Transaction, request: ScheduleCommand): ScheduleAnswer {
  const { project, id } = request;
  if (change(tx, request, { sql: PAUSE, values: { project, id } })) return { kind: 'done' };
  return decidePauseSchedule(schedule(tx, request), id);
}

export function resumeSchedule(tx: Transaction, request: ResumeSchedule): ScheduleAnswer {
  const { project, id, digest, nextAt } = request;
  const values = { project, id, digest, nextAt };
  if (change(tx, request, { sql: RESUME, values })) return { kind: 'done' };
  return decideResumeSchedule(schedule(tx, request), request);
}

export function removeSchedule(
  tx: Transaction,
  request: ScheduleCommand,
): { readonly kind: 'done' | 'no-change' } {
  const { project, id } = request;
  const isRemoved = change(tx, request, { sql: REMOVE, values: { project, id } });
  return { kind: isRemoved ? 'done' : 'no-change' };
}

/** Whether it did anything; then that is written down (J-1). */
function change(
  tx: Transaction,
  request: ScheduleCommand,
  { sql, values }: { readonly sql: string; readonly values: Parameters },
): boolean {
  const before = schedule(tx, request);
  if (tx.run(sql, values) === 0) return false;
  writeAudit(tx, request, changedSchedule(before, schedule(tx, request)));
  return true;
}
