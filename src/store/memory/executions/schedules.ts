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
import { type ExecutionState, inByteOrder, inProject } from './state.ts';

/** what was paused stays paused, and the last fire stays known. */
export function putSchedule(state: ExecutionState, request: PutSchedule): SchedulePut {
  const { project, id, by, nextAt, ...plan } = request;
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

export function pauseSchedule(state: ExecutionState, request: NamedSchedule): ScheduleAnswer {
  const entry = state.schedules.get(inProject(request.project, request.id));
  const decision = decidePauseSchedule(entry?.schedule, request.id);
  if (entry === undefined || decision.kind !== 'done') return decision;
  const { nextAt: _, ...rest } = entry.schedule;
  entry.schedule = { ...rest, paused: true };
  return decision;
}

export function resumeSchedule(state: ExecutionState, request: ResumeSchedule): ScheduleAnswer {
  const entry = state.schedules.get(inProject(request.project, request.id));
  const decision = decideResumeSchedule(entry?.schedule, request);
  if (entry === undefined || decision.kind !== 'done') return decision;
  entry.schedule = { ...entry.schedule, paused: false, nextAt: request.nextAt };
  return decision;
}

export function removeSchedule(
  state: ExecutionState,
  { project, id }: NamedSchedule,
): { readonly kind: 'done' | 'no-change' } {
  return { kind: state.schedules.delete(inProject(project, id)) ? 'done' : 'no-change' };
}
