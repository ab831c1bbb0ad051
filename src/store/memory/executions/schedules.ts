import type { Audited } from '../../../execution/audit.ts';
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
import { writeAudit } from './audit.ts';
import { type ExecutionState, inByteOrder, inProject } from './state.ts';

/** what was paused stays paused, and the last fire stays known. */
export function putSchedule(state: ExecutionState, request: PutSchedule): SchedulePut {
  const { project, id, by, nextAt, audit: _, ...plan } = request;
  const place = inProject(project, id);
  const entry = state.schedules.get(place);
  if (entry?.schedule.digest === request.digest) return { kind: 'put', changed: false };
  const { paused = false, createdAt, firedAt, lastExecution } = entry?.schedule ?? {};
  const schedule: Schedule = {
    ...{ project, id, paused, createdAt: createdAt ?? state.kernel.now() },
    ...plan,
    ...(firedAt === undefined ? {} : { firedAt }),
    ...(lastExecution === undefined ? {} : { lastExecution }),
    ...(paused ? {} : { nextAt }),
    ...(by === undefined ? {} : { by }),
  };
  state.schedules.set(place, { schedule, lastKey: entry?.lastKey });
  noteChange(state, request, { before: entry?.schedule, after: schedule });
  return { kind: 'put', changed: true };
}

export function schedule(state: ExecutionState, query: NamedSchedule): Schedule | undefined {
  const entry = state.schedules.get(inProject(query.project, query.id));
  return entry === undefined ? undefined : { ...entry.schedule };
}

export function schedules(state: ExecutionState, query: ListSchedules): readonly Schedule[] {
  const { project, after, limit } = query;
  return [...state.schedules.values()]
    .map((entry) => ({ ...entry.schedule }))
    .filter((each) => each.project === project)
    .filter(({ id }) => after === undefined || inByteOrder(id, after) > 0)
    .sort((a, b) => inByteOrder(a.id, b.id))
    .slice(0, limit);
}

export function pauseSchedule(state: ExecutionState, request: ScheduleCommand): ScheduleAnswer {
  const entry = state.schedules.get(inProject(request.project, request.id));
  const decision = decidePauseSchedule(entry?.schedule, request.id);
  if (entry === undefined || decision.kind !== 'done') return decision;
  const before = entry.schedule;
  const { nextAt: _, ...rest } = before;
  entry.schedule = { ...rest, paused: true };
  noteChange(state, request, { before, after: entry.schedule });
  return decision;
}

export function resumeSchedule(state: ExecutionState, request: ResumeSchedule): ScheduleAnswer {
  const entry = state.schedules.get(inProject(request.project, request.id));
  const decision = decideResumeSchedule(entry?.schedule, request);
  if (entry === undefined || decision.kind !== 'done') return decision;
  const before = entry.schedule;
  entry.schedule = { ...before, paused: false, nextAt: request.nextAt };
  noteChange(state, request, { before, after: entry.schedule });
  return decision;
}

export function removeSchedule(
  state: ExecutionState,
  request: ScheduleCommand,
): { readonly kind: 'done' | 'no-change' } {
  const place = inProject(request.project, request.id);
  const before = state.schedules.get(place)?.schedule;
  if (!state.schedules.delete(place)) return { kind: 'no-change' };
  noteChange(state, request, { before, after: undefined });
  return { kind: 'done' };
}

function noteChange(
  state: ExecutionState,
  request: Audited,
  { before, after }: Record<'before' | 'after', Schedule | undefined>,
): void {
  const now = state.kernel.now();
  writeAudit(state, request, { changed: changedSchedule(before, after), now });
}
