import {
  judgeExecution,
  judgeLetter,
  judgePlace,
  judgeSchedule,
  judgeSession,
  judgeWaiting,
} from '../../../execution/decide/reconcile.ts';
import { isTerminal } from '../../../execution/execution.ts';
import type { Part, Violation } from '../../../execution/invariants.ts';
import type { Reconcile, Reconciled } from '../../contract/reconcile-store.ts';
import { mend } from './mend.ts';
import {
  executionFacts,
  letterFacts,
  placeFacts,
  scheduleFacts,
  waitingFacts,
} from './reconcile-facts.ts';
import { type ExecutionState, firstFrom } from './state.ts';

interface Page {
  readonly broken: readonly Violation[];
  readonly next?: string;
}

const LOOKS: Readonly<Record<Part, (state: ExecutionState, request: Reconcile) => Page>> = {
  running: (state) => ({ broken: ofSessions(state) }),
  waiting: (state, request) =>
    paged(state.ids, request, (id) => {
      const entry = state.entries.get(id);
      return entry?.execution.status === 'waiting' ? judgeWaiting(waitingFacts(state, entry)) : [];
    }),
  awaits: (state, request) =>
    paged(state.interactionIds, request, (id) => {
      const { status, execution = undefined } = state.interactions.get(id) ?? {};
      const ended = execution === undefined ? undefined : state.entries.get(execution)?.execution;
      if (status !== 'open' || ended === undefined || !isTerminal(ended.status)) return [];
      const { project, pipeline } = ended;
      return [{ invariant: 'await-of-the-ended', project, execution: ended.id, pipeline }];
    }),
  places: (state) => ({ broken: [...placeFacts(state).values()].flatMap(judgePlace) }),
  'dead-letters': (state, request) =>
    paged(state.deadLetterIds, request, (id) => judgeLetter(letterFacts(state, id))),
  schedules: (state) => ({
    broken: [...state.schedules.values()].flatMap((each) => judgeSchedule(scheduleFacts(each))),
  }),
  executions: (state, request) =>
    paged(state.ids, request, (id) => judgeExecution(executionFacts(state, id))),
};

export function reconcile(state: ExecutionState, request: Reconcile): Reconciled {
  const { broken, next } = LOOKS[request.part](state, request);
  const each = new Map(broken.map((violation) => [JSON.stringify(violation), violation]));
  const found = [...each.values()].map((violation) => ({
    ...violation,
    repaired: request.dryRun !== true && mend(state, violation),
  }));
  return { found, ...(next === undefined ? {} : { next }) };
}

function ofSessions(state: ExecutionState): readonly Violation[] {
  const { kernel } = state;
  const now = kernel.now();
  const troubles = [...state.running].flatMap(([session, ids]): readonly Violation[] => {
    const trouble = judgeSession({ session, chain: kernel.chain(session) }, now);
    if (trouble?.invariant !== 'left-by-the-dead') return trouble === undefined ? [] : [trouble];
    return [...ids].flatMap((id) => {
      const execution = state.entries.get(id)?.execution;
      if (execution === undefined) return [];
      const { project, pipeline } = execution;
      return [{ ...trouble, project, execution: id, pipeline }];
    });
  });
  const nobodys = [...state.entries.values()]
    .filter(({ execution }) => execution.status === 'running' && execution.session === undefined)
    .map(({ execution: { id, project, pipeline } }): Violation => {
      return { invariant: 'run-by-nobody', project, execution: id, pipeline };
    });
  return [...troubles, ...nobodys];
}

/** By project and id, as far as `limit` goes. */
function paged<Project extends string, Id extends string>(
  lists: ReadonlyMap<Project, readonly Id[]>,
  { after, limit }: Reconcile,
  judge: (id: Id) => readonly Violation[],
): Page {
  const [from = '', last = ''] = after === undefined ? [] : (JSON.parse(after) as string[]);
  const broken: Violation[] = [];
  let seen = 0;
  for (const project of [...lists.keys()].sort().filter((each) => each >= from)) {
    const ids = lists.get(project) ?? [];
    const start = project === from && last !== '' ? firstFrom(ids, `${last}\0`) : 0;
    for (let place = start; place < ids.length; place += 1) {
      const id = ids[place] as Id;
      broken.push(...judge(id));
      seen += 1;
      if (seen >= limit) return { broken, next: JSON.stringify([project, id]) };
    }
  }
  return { broken };
}
