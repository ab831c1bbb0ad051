import { isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Schedule } from '../../../execution/schedule.ts';
import type { Submit, SubmitAnswer } from '../../contract/execution-store.ts';
import type { DueSchedules, FireSchedule, ScheduleFired } from '../../contract/schedule-store.ts';
import { type ExecutionState, inProject } from './state.ts';
import { submit } from './submit.ts';

export function dueSchedules(
  state: ExecutionState,
  { limit }: { readonly limit: number },
): DueSchedules {
  const now = state.kernel.now();
  const all = inTime(state).slice(0, limit + 1);
  const due = all.filter(({ nextAt }) => nextAt !== undefined && nextAt <= now).slice(0, limit);
  const next = all[due.length]?.nextAt;
  const nextInMs = next === undefined ? {} : { nextInMs: Math.max(0, next - now) };
  return { now, due: due.map((each) => ({ ...each })), ...nextInMs };
}

/** for `maintain`. */
export function nextSchedule(state: ExecutionState): { readonly nextScheduleInMs?: number } {
  const next = inTime(state)[0]?.nextAt;
  if (next === undefined) return {};
  return { nextScheduleInMs: Math.max(0, next - state.kernel.now()) };
}

/** whoever finds it where it was expected moves it on, and submits. */
export function fireSchedule(state: ExecutionState, request: FireSchedule): ScheduleFired {
  const { project, nextAt, submits } = request;
  const entry = state.schedules.get(inProject(project, request.id));
  const isExpected =
    entry?.schedule.nextAt === request.expected && entry.schedule.digest === request.digest;
  if (entry === undefined || !isExpected) return { kind: 'moved' };
  const { nextAt: _, ...rest } = entry.schedule;
  const moved: Schedule = { ...rest, ...(nextAt === undefined ? {} : { nextAt }) };
  entry.schedule = moved;
  const open = request.skipsWhileOpen ? openOf(state, project, entry.lastKey) : undefined;
  if (open !== undefined) return { kind: 'skipped', open };
  const ids = submits.map((each) => idOf(submit(state, each), each));
  const lastExecution = ids.at(-1);
  if (lastExecution === undefined) return { kind: 'fired', ids };
  entry.schedule = { ...moved, firedAt: request.firedAt, lastExecution };
  entry.lastKey = submits.at(-1)?.key;
  return { kind: 'fired', ids };
}

/** What a schedule submits asks for no release, so there is always one. */
function idOf(answer: SubmitAnswer, { id }: Submit): ExecutionId {
  return 'id' in answer ? answer.id : id;
}

/** What has the key and is open: the execution itself, or what it was continued as. */
function openOf(
  state: ExecutionState,
  project: FireSchedule['project'],
  key: string | undefined,
): ExecutionId | undefined {
  const id = key === undefined ? undefined : state.keys.get(inProject(project, key));
  const status = id === undefined ? undefined : state.entries.get(id)?.execution.status;
  return status === undefined || isTerminal(status) ? undefined : id;
}

/** The longest due first. */
function inTime(state: ExecutionState): readonly Schedule[] {
  return [...state.schedules.values()]
    .map((entry) => entry.schedule)
    .filter(({ nextAt }) => nextAt !== undefined)
    .sort((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0));
}
