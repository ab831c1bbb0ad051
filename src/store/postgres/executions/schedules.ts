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
import { type Database, type Statement, statement } from '../database.ts';
import type { Parts } from './parts.ts';

const COLUMNS =
  's.project, s.id, s.at, s.paused, s.next_at, s.fired_at, s.last_execution, s.digest, s.plan, s.put_by';

// what was paused stays paused, and the last fire stays known.
const PUT = statement(`
  insert into hf.schedule as s (project, id, at, next_at, digest, plan, put_by)
  values ($1, $2, hf_now(), $3, $4, $5, $6)
      on conflict (project, id) do update
     set next_at = case when not s.paused then excluded.next_at end,
         digest  = excluded.digest,
         plan    = excluded.plan,
         put_by  = excluded.put_by
   where s.digest <> excluded.digest -- guard: content
  returning s.id`);

const READ = statement(`
  select ${COLUMNS}
    from hf.schedule s
   where s.project = $1
     and s.id = $2`);

const LIST = statement(`
  select ${COLUMNS}
    from hf.schedule s
   where s.project = $1
     and s.id > $2
   order by s.id
   limit $3`);

const PAUSE = statement(`
  update hf.schedule s
     set paused  = true,
         next_at = null
   where s.project = $1
     and s.id = $2
     and not s.paused -- guard: not-paused
  returning s.id`);

const RESUME = statement(`
  update hf.schedule s
     set paused  = false,
         next_at = $3
   where s.project = $1
     and s.id = $2
     and s.digest = $4 -- guard: plan
     and s.paused -- guard: paused
  returning s.id`);

const REMOVE = statement(
  'delete from hf.schedule s where s.project = $1 and s.id = $2 returning s.id',
);

export async function putSchedule(parts: Parts, request: PutSchedule): Promise<SchedulePut> {
  const { project, id, nextAt, digest, plan, by } = request;
  const values = [project, id, nextAt, digest, plan, by ?? null];
  return { kind: 'put', changed: await changes(parts, PUT, values) };
}

export async function schedule(
  database: Database,
  { project, id }: NamedSchedule,
): Promise<Schedule | undefined> {
  const [row] = await database.rows<ScheduleRow & object>(READ, [project, id]);
  return row === undefined ? undefined : toSchedule(row);
}

export async function schedules(
  database: Database,
  { project, after, limit }: ListSchedules,
): Promise<readonly Schedule[]> {
  const values = [project, after ?? '', limit];
  return (await database.rows<ScheduleRow & object>(LIST, values)).map(toSchedule);
}

export async function pauseSchedule(parts: Parts, request: NamedSchedule): Promise<ScheduleAnswer> {
  const { project, id } = request;
  for (;;) {
    if (await changes(parts, PAUSE, [project, id])) return { kind: 'done' };
    const decision = decidePauseSchedule(await schedule(parts.database, request), id);
    // It was resumed in between.
    if (decision.kind !== 'done') return decision;
  }
}

export async function resumeSchedule(
  parts: Parts,
  request: ResumeSchedule,
): Promise<ScheduleAnswer> {
  const { project, id, nextAt, digest } = request;
  for (;;) {
    if (await changes(parts, RESUME, [project, id, nextAt, digest])) return { kind: 'done' };
    const decision = decideResumeSchedule(await schedule(parts.database, request), request);
    // It was paused in between.
    if (decision.kind !== 'done') return decision;
  }
}

export async function removeSchedule(
  parts: Parts,
  { project, id }: NamedSchedule,
): Promise<{ readonly kind: 'done' | 'no-change' }> {
  return { kind: (await changes(parts, REMOVE, [project, id])) ? 'done' : 'no-change' };
}

async function changes(
  { database, boundaries }: Parts,
  change: Statement,
  values: readonly unknown[],
): Promise<boolean> {
  return (await boundaries.around(() => database.rows(change, values))).length > 0;
}
