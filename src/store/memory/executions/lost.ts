// What dead sessions left. Looks at sessions that run something, and no further.

import { leavesWork } from '../../../execution/decide/claim.ts';
import {
  claimerOf,
  isSuspect,
  isTried,
  type LostClaim,
  mayTry,
} from '../../../execution/decide/suspect.ts';
import type { ExecutionId, ProjectName } from '../../../execution/names.ts';
import { routeOf } from '../../../execution/route.ts';
import type { SessionRecord } from '../../../lease/session.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Wanted } from './ready.ts';
import type { Entry, ExecutionState } from './state.ts';

/** By project, the longest claimed first; without suspects. */
export function lostOnes(
  state: ExecutionState,
  wanted: Wanted,
  now: Instant,
): ReadonlyMap<ProjectName, readonly ExecutionId[]> {
  const lost = leftByDead(state, wanted, now).filter((entry) => !isSuspect(claimOf(state, entry)));
  const ids = Map.groupBy(lost, ({ execution }) => execution.project);
  return new Map([...ids].map(([project, of]) => [project, of.map((each) => each.execution.id)]));
}

interface Trying {
  readonly self: SessionRecord;
  readonly now: Instant;
  readonly livedMs: number | undefined;
}

/** The one suspect that this session may try now. */
export function suspectFor(
  state: ExecutionState,
  wanted: readonly Wanted[],
  { self, now, livedMs }: Trying,
): Entry | undefined {
  const running = [...(state.running.get(self.id) ?? [])].flatMap(
    (id) => state.entries.get(id) ?? [],
  );
  const claimer = claimerOf(self, livedMs, now);
  if (running.some((entry) => isTried(claimOf(state, entry), claimer, now))) return undefined;
  return wanted
    .flatMap((each) => leftByDead(state, each, now))
    .filter((entry) => {
      const lost = claimOf(state, entry);
      return isSuspect(lost) && mayTry(lost, claimer, now);
    })
    .sort(byClaim)[0];
}

function leftByDead(
  state: ExecutionState,
  { routes, lane, project, admits }: Wanted,
  now: Instant,
): Entry[] {
  const left: Entry[] = [];
  for (const [session, ids] of state.running) {
    const isDead = leavesWork(state.kernel.chain(session), now);
    for (const id of isDead ? ids : []) {
      const entry = state.entries.get(id);
      const execution = entry?.execution;
      if (entry === undefined || execution?.lane !== lane) continue;
      if (project !== undefined && execution.project !== project) continue;
      const route = routeOf(execution);
      if (routes.includes(route) && admits({ project: execution.project, route })) left.push(entry);
    }
  }
  return left.sort(byClaim);
}

function claimOf(state: ExecutionState, { execution, claimedSeq, history }: Entry): LostClaim {
  const { claimedAt = 0 as Instant, fruitlessClaims, session } = execution;
  const hasRecorded = history.length > claimedSeq;
  return { claimedAt, fruitlessClaims, hasRecorded, holder: state.kernel.chain(session).at(-1) };
}

function byClaim({ execution: a }: Entry, { execution: b }: Entry): number {
  return (a.claimedAt ?? 0) - (b.claimedAt ?? 0) || (a.id < b.id ? -1 : 1);
}
