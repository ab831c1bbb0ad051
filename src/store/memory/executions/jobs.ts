import type { ExecutionId } from '../../../execution/names.ts';
import type { CommandAnswer } from '../../contract/execution-store.ts';
import type { ExecutionMoved } from '../../contract/release-store.ts';
import type {
  JobItem,
  ListJobItems,
  NoteJobItem,
  RedriveAnswer,
} from '../../contract/repair-store.ts';
import { type ExecutionState, inByteOrder } from './state.ts';

type AnyAnswer = CommandAnswer | RedriveAnswer | ExecutionMoved;

/** Which item of which job; nothing for whoever is asked outside of one. */
export interface OfJob {
  readonly job: ExecutionId | undefined;
  readonly target: ExecutionId;
}

/** Y-23: what is answered was done before, or is done now and noted, refusals too. */
export function onceOfJob<Answer extends AnyAnswer>(
  state: ExecutionState,
  { job, target }: OfJob,
  act: () => Answer,
): Answer {
  if (job === undefined) return act();
  const items = state.jobs.get(job) ?? new Map();
  const done = items.get(target);
  if (done !== undefined) return again(done.answer as Answer);
  const answer = act();
  items.set(target, { item: itemOf(target, answer, state), answer });
  state.jobs.set(job, items);
  return answer;
}

function again<Answer extends AnyAnswer>(answer: Answer): Answer {
  return answer.kind === 'submitted' ? { ...answer, existing: true } : answer;
}

function itemOf(target: ExecutionId, answer: AnyAnswer, state: ExecutionState): JobItem {
  return {
    target,
    outcome: answer.kind === 'refused' ? answer.why : answer.kind,
    ...(answer.kind === 'submitted' ? { made: answer.id } : {}),
    at: state.kernel.now(),
  };
}

/** The first one stays. */
export function noteJobItem(state: ExecutionState, request: NoteJobItem): void {
  const { job, target, outcome } = request;
  const items = state.jobs.get(job) ?? new Map();
  state.jobs.set(job, items);
  if (items.has(target)) return;
  const item: JobItem = { target, outcome, at: state.kernel.now() };
  items.set(target, { item, answer: { kind: 'refused', why: outcome } as never });
}

/** By target. */
export function jobItems(
  state: ExecutionState,
  { job, after, limit }: ListJobItems,
): readonly JobItem[] {
  return [...(state.jobs.get(job)?.values() ?? [])]
    .map(({ item }) => item)
    .filter(({ target }) => after === undefined || inByteOrder(target, after) > 0)
    .sort((a, b) => inByteOrder(a.target, b.target))
    .slice(0, limit);
}
