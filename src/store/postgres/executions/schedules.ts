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
import { type Database, statement } from '../database.ts';
import { changeSchedule, SCHEDULE_COLUMNS } from './change-schedule.ts';
import type { Parts } from './parts.ts';

const IS_THERE = 'exists (select 1 from hf.schedule t where t.project = $1 and t.id = $2)';
const USED = '(select count(*) from hf.schedule u where u.project = $1)';

// P-14: what is put into one project at once is counted one after the other.
const IN_TURN = statement(
  `select pg_advisory_xact_lock(hashtextextended('holdfast schedules of ' || $1, 0))`,
);

const ROOM = statement(
  `select ${IS_THERE} as is_there, ${USED} as used, ${limitOf('schedules', '$1', '$3')} as quota`,
);

// what was paused stays paused, and the last fire stays known.
const PUT = statement(`
  insert into hf.schedule as s (project, id, at, next_at, digest, plan, put_by)
  select $1, $2, hf_now(), $3, $4, $5, $6
   where ($7::bigint is null or ${IS_THERE} or ${USED} < ${limitOf('schedules', '$1', '$7')}) -- guard: quota
      on conflict (project, id) do update
     set next_at = case when not s.paused then excluded.next_at end,
         digest  = excluded.digest,
         plan    = excluded.plan,
         put_by  = excluded.put_by
   where s.digest <> excluded.digest -- guard: content
  returning ${SCHEDULE_COLUMNS}, xmax <> 0 as was_there, hf_now() as now`);

const READ = statement(`
  select ${SCHEDULE_COLUMNS}
    from hf.schedule s
   where s.project = $1
     and s.id = $2`);

const LIST = statement(`
  select ${SCHEDULE_COLUMNS}
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
  returning ${SCHEDULE_COLUMNS}, hf_now() as now`);

const RESUME = statement(`
  update hf.schedule s
     set paused  = false,
         next_at = $3
   where s.project = $1
     and s.id = $2
     and s.digest = $4 -- guard: plan
     and s.paused -- guard: paused
  returning ${SCHEDULE_COLUMNS}, hf_now() as now`);

const REMOVE = statement(`
  delete from hf.schedule s
   where s.project = $1
     and s.id = $2
  returning hf_now() as now`);

export async function putSchedule(parts: Parts, request: PutSchedule): Promise<SchedulePut> {
  const { project, id, nextAt, digest, plan, by, quota } = request;
  const values = [project, id, nextAt, digest, plan, by ?? null, quota ?? null];
  const put = { statement: PUT, values, ...(quota === undefined ? {} : { inTurn: IN_TURN }) };
  for (;;) {
    if (await changeSchedule(parts, request, put)) return { kind: 'put', changed: true };
    const [room] = await parts.database.rows<RoomRow>(ROOM, [project, id, quota ?? null]);
    if (room?.is_there) return { kind: 'put', changed: false };
    if (quota !== undefined && room !== undefined && room.used >= room.quota) {
      return { kind: 'refused', why: 'over-quota', project, quota: 'schedules', limit: room.quota };
    }
    // It, or another one, was removed in between.
  }
}

interface RoomRow {
  readonly is_there: boolean;
  readonly used: number;
  readonly quota: number;
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

export async function pauseSchedule(
  parts: Parts,
  request: ScheduleCommand,
): Promise<ScheduleAnswer> {
  const { project, id } = request;
  for (;;) {
    const isDone = await changeSchedule(parts, request, {
      statement: PAUSE,
      values: [project, id],
    });
    if (isDone) return { kind: 'done' };
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
    const values = [project, id, nextAt, digest];
    if (await changeSchedule(parts, request, { statement: RESUME, values }))
      return { kind: 'done' };
    const decision = decideResumeSchedule(await schedule(parts.database, request), request);
    // It was paused in between.
    if (decision.kind !== 'done') return decision;
  }
}

export async function removeSchedule(
  parts: Parts,
  request: ScheduleCommand,
): Promise<{ readonly kind: 'done' | 'no-change' }> {
  const { project, id } = request;
  const isDone = await changeSchedule(parts, request, { statement: REMOVE, values: [project, id] });
  return { kind: isDone ? 'done' : 'no-change' };
}
