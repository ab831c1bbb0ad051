// Schedules. A change is one transaction with its audit: the row is locked first, so that its former
// content is known; the guards of the statement decide whether anything is done.

import { changedSchedule } from '../../features/audit/decide.ts';
import {
  decidePauseSchedule,
  decideResumeSchedule,
  type Schedule,
} from '../../features/schedules/model.ts';
import type {
  DueSchedules,
  ListSchedules,
  NamedSchedule,
  PutSchedule,
  ResumeSchedule,
  ScheduleAnswer,
  ScheduleCommand,
  SchedulePut,
  ScheduleStore,
} from '../../features/schedules/port.ts';
import { dueOf, type ScheduleRow, toSchedule } from '../../features/schedules/rows.ts';
import { toInstant } from '../../support/clock.ts';
import { writeAudit } from './audit.ts';
import { withLimit } from './quota.ts';
import { all, dialects, type Gateway, one, type Script, type Sql, sql } from './script.ts';

const COLUMNS = 'project, id, at, paused, next_at, fired_at, last_execution, digest, plan, put_by';

// P-14: schedules that are put into one project at once are counted one after the other. SQLite has the write lock.
const IN_TURN = dialects({
  sqlite: '',
  postgres: `select pg_advisory_xact_lock(hashtextextended('holdfast schedules of ' || :project, 0))`,
});

const USED = '(select count(*) from hf.schedule as u where u.project = :project)';

const INSERT = withLimit(
  'schedules',
  (limit) => `
  insert into hf.schedule (project, id, at, paused, next_at, digest, plan, put_by)
  select :project::text, :id::text, hf_now(), false, :nextAt::bigint, :digest::text, :plan::text, :by::text
   where (:quota::bigint is null or ${USED} < ${limit}) -- guard: quota
      on conflict (project, id) do nothing
  returning ${COLUMNS}, hf_now() as now`,
);

const ROOM = withLimit('schedules', (limit) => `select ${USED} as used, ${limit} as quota`);

// a paused schedule stays paused, and its last fire stays known.
const REPLACE = sql(`
  update hf.schedule
     set next_at = case when not paused then :nextAt::bigint end,
         digest  = :digest,
         plan    = :plan,
         put_by  = :by
   where project = :project
     and id = :id
     and digest <> :digest -- guard: content
  returning ${COLUMNS}, hf_now() as now`);

const READ = sql(`
  select ${COLUMNS}
    from hf.schedule
   where project = :project
     and id = :id`);

const LOCK = sql(`
  select ${COLUMNS}
    from hf.schedule
   where project = :project
     and id = :id
     for update`);

const LIST = sql(`
  select ${COLUMNS}
    from hf.schedule
   where project = :project
     and id > :after
   order by id
   limit :limit`);

const PAUSE = sql(`
  update hf.schedule
     set paused  = true,
         next_at = null
   where project = :project
     and id = :id
     and not paused -- guard: not-paused
  returning ${COLUMNS}, hf_now() as now`);

const RESUME = sql(`
  update hf.schedule
     set paused  = false,
         next_at = :nextAt
   where project = :project
     and id = :id
     and digest = :digest -- guard: plan
     and paused -- guard: paused
  returning ${COLUMNS}, hf_now() as now`);

const REMOVE = sql(`
  delete from hf.schedule
   where project = :project
     and id = :id
  returning hf_now() as now`);

const DUE = sql(`
  select due.*, clock.now
    from (select hf_now() as now) as clock
    left join (
         select ${COLUMNS}
           from hf.schedule indexed by schedule_next
          where next_at is not null
          order by next_at
          limit :limit
         ) as due on true
   order by due.next_at`);

export function schedulesOf({ read, write }: Gateway): Omit<ScheduleStore, 'fireSchedule'> {
  return {
    putSchedule: (request) => write(() => putSchedule(request)),
    schedule: (query) => read(() => readSchedule(READ, query)),
    schedules: (query) => read(() => listSchedules(query)),
    pauseSchedule: (request) => write(() => pauseSchedule(request)),
    resumeSchedule: (request) => write(() => resumeSchedule(request)),
    removeSchedule: (request) => write(() => removeSchedule(request)),
    dueSchedules: (query) => read(() => dueSchedules(query)),
  };
}

function* putSchedule(request: PutSchedule): Script<SchedulePut> {
  const { project, quota } = request;
  if (quota !== undefined) yield* all(IN_TURN, request);
  for (;;) {
    if (yield* change(undefined, request, INSERT)) return { kind: 'put', changed: true };
    const before = yield* readSchedule(LOCK, request);
    if (before !== undefined) {
      return { kind: 'put', changed: yield* change(before, request, REPLACE) };
    }
    const room = yield* one<{ used: number; quota: number }>(ROOM, request);
    if (quota !== undefined && room !== undefined && room.used >= room.quota) {
      return { kind: 'refused', why: 'over-quota', project, quota: 'schedules', limit: room.quota };
    }
    // It, or another one, was removed in between.
  }
}

function* pauseSchedule(request: ScheduleCommand): Script<ScheduleAnswer> {
  const before = yield* readSchedule(LOCK, request);
  if (before !== undefined && (yield* change(before, request, PAUSE))) return { kind: 'done' };
  return decidePauseSchedule(before, request.id);
}

function* resumeSchedule(request: ResumeSchedule): Script<ScheduleAnswer> {
  const before = yield* readSchedule(LOCK, request);
  if (before !== undefined && (yield* change(before, request, RESUME))) return { kind: 'done' };
  return decideResumeSchedule(before, request);
}

function* removeSchedule(
  request: ScheduleCommand,
): Script<{ readonly kind: 'done' | 'no-change' }> {
  const before = yield* readSchedule(LOCK, request);
  const isDone = before !== undefined && (yield* change(before, request, REMOVE));
  return { kind: isDone ? 'done' : 'no-change' };
}

/** What the statement left, and when; only the time when it left nothing. */
type LeftRow = Partial<ScheduleRow> & { readonly now: number };

/** Whether it did anything; then that is written down (J-1). */
function* change(
  before: Schedule | undefined,
  request: ScheduleCommand,
  statement: Sql,
): Script<boolean> {
  const left = yield* one<LeftRow>(statement, request);
  if (left === undefined) return false;
  const after = left.id === undefined ? undefined : toSchedule(left as ScheduleRow);
  yield* writeAudit(request, changedSchedule(before, after), toInstant(left.now));
  return true;
}

function* readSchedule(statement: Sql, key: NamedSchedule): Script<Schedule | undefined> {
  const row = yield* one<ScheduleRow>(statement, key);
  return row === undefined ? undefined : toSchedule(row);
}

function* listSchedules(query: ListSchedules): Script<readonly Schedule[]> {
  return (yield* all<ScheduleRow>(LIST, { after: '', ...query })).map(toSchedule);
}

function* dueSchedules({ limit }: { readonly limit: number }): Script<DueSchedules> {
  type Row = ScheduleRow & { readonly now: number };
  const rows = yield* all<Row>(DUE, { limit: limit + 1 });
  const now = toInstant(rows[0]?.now ?? 0);
  const stored = rows.filter(({ id }) => id !== null);
  return { now, ...dueOf(stored, now, limit) };
}
