// The store of a coordinator, with an ear at what goes through it: what is submitted, claimed, written and refused
// here, by whoever asks. Counting costs a few additions.

import type { Lane, TerminalStatus } from '../execution/execution.ts';
import { type NewEvent, saidIn } from '../execution/history.ts';
import type { ProjectName } from '../execution/names.ts';
import type {
  Claimed,
  CoordinatorStore,
  ExecutionStore,
  OwnerWrite,
} from '../store/contract/execution-store.ts';

/** Who counts. Labels have few values: never an id, a name or a project. */
export interface ExecutionCounts {
  submitted(lane: Lane): void;
  /** From being ready for the first time to being claimed. */
  waited(ms: number): void;
  takenOver(): void;
  step(outcome: 'completed' | 'retried' | 'failed'): void;
  ended(status: TerminalStatus): void;
  refused(verb: string): void;
}

/** For those of one project; where it is not known whose something is, for all of them. */
export type CountsOf = (project: ProjectName | undefined) => ExecutionCounts;

export function countedStore(store: CoordinatorStore, countsOf: CountsOf): CoordinatorStore {
  const { executions } = store;
  return { ...store, executions: { ...executions, ...countedVerbs(executions, countsOf) } };
}

type Counted = Pick<ExecutionStore, 'submit' | 'claim' | 'record' | 'finish' | 'park' | 'giveBack'>;

function countedVerbs(executions: ExecutionStore, countsOf: CountsOf): Counted {
  const written = <Answer extends { readonly kind: string }>(
    verb: string,
    { events, children = [], project }: OwnerWrite,
    answer: Answer,
  ): Answer => {
    const counts = countsOf(project);
    if (answer.kind === 'refused') {
      counts.refused(verb);
      return answer;
    }
    for (const event of events) noteStep(event, counts);
    for (const child of children) countsOf(child.project).submitted(child.lane);
    return answer;
  };
  return {
    async submit(request) {
      const answer = await executions.submit(request);
      if (answer.kind !== 'refused' && !answer.existing) {
        countsOf(request.project).submitted(request.lane);
      }
      return answer;
    },
    async claim(request) {
      const answer = await executions.claim(request);
      if (answer.kind === 'claimed') {
        for (const each of answer.claims) noteClaim(each, countsOf(each.execution.project));
      }
      return answer;
    },
    record: async (request) => written('record', request, await executions.record(request)),
    async finish(request) {
      const answer = written('finish', request, await executions.finish(request));
      if (answer.kind === 'finished') countsOf(request.project).ended(request.status);
      return answer;
    },
    park: async (request) => written('park', request, await executions.park(request)),
    giveBack: async (request) => written('giveBack', request, await executions.giveBack(request)),
  };
}

function noteClaim({ previous, execution, claimedAt }: Claimed, counts: ExecutionCounts): void {
  if (previous === 'lost') counts.takenOver();
  if (previous === 'none') counts.waited(Math.max(0, claimedAt - execution.submittedAt));
}

function noteStep({ kind, body }: NewEvent, counts: ExecutionCounts): void {
  if (kind === 'step-completed') counts.step('completed');
  if (kind !== 'step-failed') return;
  // It is committed: nothing that is said of it may fail.
  const { retryInMs } = saidIn<{ readonly retryInMs: number }>(body);
  counts.step(retryInMs === undefined ? 'failed' : 'retried');
}
