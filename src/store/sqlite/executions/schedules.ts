import { decidePauseSchedule, decideResumeSchedule } from '../../../execution/decide/schedule.ts';
import type { Schedule } from '../../../execution/schedule.ts';
import type {
  ListSchedules,
  NamedSchedule,
  PutSchedule,
  ResumeSchedule,
  ScheduleAnswer,
  SchedulePut,
} from '../../contract/schedule-store.ts';
import { type ScheduleRow, toSchedule } from '../../schedule-rows.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

const COLUMNS = 'project, id, at, paused, next_at, fired_at, last_execution, digest, plan, put_by';

// what was paused stays paused, and the last fire stays known.
const PUT = `
  insert into schedule (project, id, at, paused, next_at, digest, plan, put_by)
  values (:project, :id, :now, 0, :nextAt, :digest, :plan, :by)
  on conflict (project, id) do update
     set next_at = case when paused = 0 then excluded.next_at end,
         digest = excluded.digest,
         plan = excluded.plan,
         put_by = excluded.put_by
   where schedule.digest <> excluded.digest -- guard: content`;

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
  const { project, id, plan, digest, nextAt, by } = request;
  const values = { project, id, plan, digest, nextAt, by: by ?? null, now: tx.now };
  return { kind: 'put', changed: tx.run(PUT, values) > 0 };
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

export function pauseSchedule(tx: Transaction, request: NamedSchedule): ScheduleAnswer {
  const { project, id } = request;
  if (tx.run(PAUSE, { project, id }) > 0) return { kind: 'done' };
  return decidePauseSchedule(schedule(tx, request), id);
}

export function resumeSchedule(tx: Transaction, request: ResumeSchedule): ScheduleAnswer {
  const { project, id, digest, nextAt } = request;
  if (tx.run(RESUME, { project, id, digest, nextAt }) > 0) return { kind: 'done' };
  return decideResumeSchedule(schedule(tx, request), request);
}

export function removeSchedule(
  tx: Transaction,
  { project, id }: NamedSchedule,
): { readonly kind: 'done' | 'no-change' } {
  return { kind: tx.run(REMOVE, { project, id }) > 0 ? 'done' : 'no-change' };
}
