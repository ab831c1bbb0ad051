// Schedules. A change and its audit record are one transaction. It locks the row first
// to know its former content; the guards of the statement decide if anything changes.

import { decideCancel } from '../../execution/decide/command.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import { changedSchedule, submittedBySchedule } from '../../features/audit/decide.ts';
import {
  decideOverlap,
  decidePauseSchedule,
  decideResumeSchedule,
  type Schedule,
} from '../../features/schedules/model.ts';
import type {
  DueSchedules,
  FireSchedule,
  NamedSchedule,
  PutSchedule,
  ResumeSchedule,
  ScheduleCommand,
  ScheduleFired,
  ScheduleResult,
  ScheduleStore,
  ScheduleWritten,
  TriggerSchedule,
} from '../../features/schedules/port.ts';
import { assert } from '../../support/assert.ts';
import { toInstant } from '../../support/clock.ts';
import { STATUS_CODES, TERMINAL_FROM } from '../execution-rows.ts';
import { inTurnOf, withLimit } from './access/projects.ts';
import { writeAudit } from './audit.ts';
import type { Natives } from './changes.ts';
import { runCommand } from './commands.ts';
import { dueInTurn, takeDue } from './due.ts';
import { all, every, found, type Gateway, one, type Script, type Sql, sql } from './script.ts';

const COLUMNS = 'project, id, at, paused, next_at, fired_at, last_execution, digest, plan, put_by';

const IN_TURN = inTurnOf('schedules');

const USED = '(select count(*) from hf.schedule as u where u.project = :project)';

const INSERT = withLimit(
  'schedules',
  (limit) => `
  insert into hf.schedule (project, id, at, paused, next_at, digest, plan, put_by)
  select :project::text, :id::text, hf_now(), false, :nextAt::bigint, :digest::text, :plan::text, :actor::text
   where (:quota::bigint is null or ${USED} < ${limit}) -- guard: quota
      on conflict (project, id) do nothing
  returning ${COLUMNS}, hf_now() as now`,
);

const ROOM = withLimit('schedules', (limit) => `select ${USED} as used, ${limit} as quota`);

// A paused schedule stays paused, and its last fire stays known.
const REPLACE = sql(`
  update hf.schedule
     set next_at = case when not paused then :nextAt::bigint end,
         digest  = :digest,
         plan    = :plan,
         put_by  = :actor
   where project = :project
     and id = :id
     and digest <> :digest -- guard: content
     and :ifExists::text is null -- guard: create-only
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

const DUE_IN_TURN = dueInTurn({
  ...{ name: 'hf.schedule', at: 'next_at', index: 'schedule_turn', columns: COLUMNS },
  where: 'x.next_at is not null',
});

// Only the caller that finds the expected time moves the schedule on. The row stays locked until
// the commit.
const MOVE = sql(`
  update hf.schedule
     set next_at = :nextAt
   where project = :project
     and id = :id
     and next_at = :expected -- guard: expected
     and digest = :digest -- guard: fired-plan
  returning last_key`);

// A trigger moves nothing, so it also works while the schedule is paused.
const STAY = sql(`
  select last_key, hf_now() as now
    from hf.schedule
   where project = :project
     and id = :id
     and digest = :digest -- guard: triggered-plan
     for update`);

// Finds the holders of keys: the execution of a fire, or its continuation.
const KEYED = sql(`
  select e.id, e.key, e.status, e.has_place, e.place_key
    from hf.execution as e
   where e.project = :project
     and e.key = any (:keys::text[])
     and e.key is not null`);

const NOTE = sql(`
  update hf.schedule
     set fired_at       = :firedAt,
         last_execution = :execution,
         last_key       = :key
   where project = :project
     and id = :id`);

// The last execution failed. If an operator resumes the schedule, it does not count again.
const FORGET = sql(`
  update hf.schedule
     set last_key = null
   where project = :project
     and id = :id`);

export function schedulesOf({ read, write, repeat }: Gateway, natives: Natives): ScheduleStore {
  return {
    putSchedule: (request) => write(() => putSchedule(request)),
    schedule: (query) => read(() => readSchedule(READ, query)),
    schedules: (query) => read(() => every(LIST, { after: '', ...query }, toSchedule)),
    pauseSchedule: (request) => write(() => pauseSchedule(request)),
    resumeSchedule: (request) => write(() => resumeSchedule(request)),
    removeSchedule: (request) => write(() => removeSchedule(request)),
    dueSchedules: (query) => read(() => dueSchedules(query)),
    fireSchedule: (request) => repeat(() => fireSchedule(natives, request), { notifies: isFired }),
    triggerSchedule: (request) =>
      repeat(() => triggerSchedule(natives, request), { notifies: isFired }),
  };
}

function* putSchedule(request: PutSchedule): Script<ScheduleWritten> {
  const { project, id, quota } = request;
  if (quota !== undefined) yield* all(IN_TURN, request);
  for (;;) {
    if (yield* change(undefined, request, INSERT)) return { kind: 'put', changed: true };
    const before = yield* readSchedule(LOCK, request);
    if (before !== undefined) {
      const changed = yield* change(before, request, REPLACE);
      if (changed || before.digest === request.digest) return { kind: 'put', changed };
      return { kind: 'refused', why: 'schedule-exists', id };
    }
    const room = yield* one<{ used: number; quota: number }>(ROOM, request);
    if (quota !== undefined && room !== undefined && room.used >= room.quota) {
      return { kind: 'refused', why: 'over-quota', project, quota: 'schedules', limit: room.quota };
    }
    // Another transaction removed this schedule, or another one, in between. Try again.
  }
}

function* pauseSchedule(request: ScheduleCommand): Script<ScheduleResult> {
  const before = yield* readSchedule(LOCK, request);
  if (before !== undefined && (yield* change(before, request, PAUSE))) return { kind: 'done' };
  return decidePauseSchedule(before, request.id);
}

function* resumeSchedule(request: ResumeSchedule): Script<ScheduleResult> {
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

/** The row after the statement and the time. Only the time when the statement removed the row. */
type LeftRow = Partial<ScheduleRow> & { readonly now: number };

/** Returns true if the statement changed the schedule, and then writes the audit record (J-1). */
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
  return yield* found(statement, key, toSchedule);
}

function* dueSchedules({ limit }: { readonly limit: number }): Script<DueSchedules> {
  type Row = ScheduleRow & { readonly now: number };
  const rows = yield* all<Row>(DUE, { limit: limit + 1 });
  const now = toInstant(rows[0]?.now ?? 0);
  const stored = rows.filter(({ id }) => id !== null);
  const isDue = ({ next_at: at }: Row): boolean => at !== null && at <= now;
  const due = stored.filter(isDue);
  const next = stored[Math.min(due.length, limit)]?.next_at ?? undefined;
  // PostgreSQL may take later ones in turn, but a schedule fires by the returned time.
  const taken = (yield* takeDue(due, DUE_IN_TURN, limit)).filter(isDue).map(toSchedule);
  return {
    ...{ now, due: taken },
    ...(next === undefined ? {} : { nextInMs: Math.max(0, next - now) }),
  };
}

function isFired(result: ScheduleFired): boolean {
  return result.kind === 'fired' && result.ids.length > 0;
}

interface Keyed {
  readonly id: ExecutionId;
  readonly key: string;
  readonly status: number;
  readonly has_place: boolean | number;
  readonly place_key: string | null;
}

/** Only the caller that finds the expected time or plan gets the row, and locks it. */
interface Held {
  readonly last_key: string | null;
}

/**
 * Moves the schedule on and submits, or does neither, in one transaction. A repeated call finds
 * that the schedule has moved.
 */
function* fireSchedule(natives: Natives, request: FireSchedule): Script<ScheduleFired> {
  const moved = yield* one<Held>(MOVE, request);
  if (moved === undefined) return { kind: 'moved' };
  const last = yield* lastFire(request, moved);
  if (request.pause !== undefined && last !== undefined && FAILED.has(last.status)) {
    const { project, id, pause: audit } = request;
    const before = yield* readSchedule(LOCK, request);
    yield* change(before, { project, id, audit }, PAUSE);
    yield* all(FORGET, request);
    return { kind: 'paused', failed: last.id };
  }
  const fired = yield* submitAll(natives, request, last);
  if (fired.kind === 'fired') yield* note(request, fired.ids);
  return fired;
}

const FAILED: ReadonlySet<number> = new Set([STATUS_CODES.failed, STATUS_CODES.quarantined]);

/** A repeated call finds its executions by their keys and changes nothing. */
function* triggerSchedule(natives: Natives, request: TriggerSchedule): Script<ScheduleFired> {
  const held = yield* one<Held & { readonly now: number }>(STAY, request);
  if (held === undefined) return { kind: 'moved' };
  const existing = yield* submitted(request);
  if (existing.length === request.submits.length) return { kind: 'fired', ids: existing };
  const last = yield* lastFire(request, held);
  const fired = yield* submitAll(natives, request, last);
  if (fired.kind !== 'fired') return fired;
  const { firedAt } = request;
  if (firedAt !== undefined) yield* note({ ...request, firedAt }, fired.ids);
  yield* writeAudit(request, submittedBySchedule(request, fired.ids), toInstant(held.now));
  return fired;
}

function* lastFire({ project }: NamedSchedule, { last_key: key }: Held): Script<Keyed | undefined> {
  return key === null ? undefined : yield* one<Keyed>(KEYED, { project, keys: [key] });
}

/** */
function* submitAll(
  natives: Natives,
  request: FireSchedule | TriggerSchedule,
  last: Keyed | undefined,
): Script<ScheduleFired> {
  const { project, submits, overlap } = request;
  const [first] = submits;
  if (first === undefined) return { kind: 'fired', ids: [] };
  if (last !== undefined) {
    const before = {
      isOpen: last.status < TERMINAL_FROM,
      hasSlot: Boolean(last.has_place),
      ...(last.place_key === null ? {} : { slotKey: last.place_key }),
    };
    const decision = decideOverlap(overlap, before, first.concurrency?.key);
    if (decision === 'skip') return { kind: 'skipped', open: last.id };
    if (decision === 'cancel') {
      assert(request.cancel !== undefined, 'X-124: a fire that may cancel has its record');
      const cancel = { id: last.id, project, ...request.cancel };
      yield* runCommand(natives, cancel, decideCancel);
    }
  }
  for (const submit of submits) yield* natives.submit(submit);
  const ids = yield* submitted(request);
  assert(ids.length === submits.length, 'X-34: what a fire submits has a key of its own');
  return { kind: 'fired', ids };
}

function* submitted({
  project,
  submits,
}: Pick<FireSchedule, 'project' | 'submits'>): Script<readonly ExecutionId[]> {
  const keys = submits.map(({ key }) => key ?? '');
  const rows = yield* all<Keyed>(KEYED, { project, keys });
  const idOf = new Map(rows.map(({ key, id }) => [key, id]));
  return keys.flatMap((key) => idOf.get(key) ?? []);
}

function* note(
  request: Pick<FireSchedule, 'project' | 'id' | 'submits' | 'firedAt'>,
  ids: readonly ExecutionId[],
): Script<void> {
  if (ids.length === 0) return;
  yield* all(NOTE, { ...request, execution: ids.at(-1), key: request.submits.at(-1)?.key });
}

interface ScheduleRow {
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

function toSchedule(row: ScheduleRow): Schedule {
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
