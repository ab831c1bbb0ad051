// Claims of workers elsewhere. They cannot end the sessions of those who died, so it is done here, by whatever
// their claims say (P4).

import { OverdueSessions } from '../../engine/worker/duties.ts';
import { isAddedName } from '../../engine/worker/own-pipelines.ts';
import { type PipelineName, parsePipelineName } from '../../execution/names.ts';
import type { Claim, ClaimAnswer, CoordinatorStore } from '../../store/contract/execution-store.ts';
import { isReserved } from './handling.ts';
import type { Coordinator } from './route.ts';

const overdueIn: WeakMap<CoordinatorStore, OverdueSessions> = new WeakMap();

/** M-19: who has a key for workers is given no act of an operator, whose end it could make up. It is left out. */
export function runElsewhere(pipelines: readonly string[]): readonly PipelineName[] {
  return pipelines.map(parsePipelineName).filter((each) => isAddedName(each) || !isReserved(each));
}

export async function claimFor(coordinator: Coordinator, request: Claim): Promise<ClaimAnswer> {
  const { executions } = coordinator.store;
  const answer = await executions.claim(request);
  if (answer.kind === 'refused' || !answer.overdue) return answer;
  const overdue = overdueOf(coordinator);
  // What was claimed must be told; a store that is away says so to the next who asks.
  const isNew = await overdue.heard(true).catch(() => false);
  if (isNew)
    return answer.claims.length === 0 ? executions.claim(request) : { ...answer, more: true };
  const { nextReadyInMs = Infinity } = answer;
  return { ...answer, nextReadyInMs: Math.min(nextReadyInMs, overdue.dueInMs) };
}

function overdueOf({ store, clock }: Coordinator): OverdueSessions {
  const known = overdueIn.get(store) ?? new OverdueSessions(store.sessions, clock);
  overdueIn.set(store, known);
  return known;
}
