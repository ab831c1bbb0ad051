import {
  claimExecution,
  fairPart,
  inTurn,
  leavesWork,
  refuseClaims,
} from '../../../execution/decide/claim.ts';
import type { ExecutionId, ProjectName } from '../../../execution/names.ts';
import { routeOf, routesAsked } from '../../../execution/route.ts';
import type { SessionRecord } from '../../../lease/session.ts';
import { chainState } from '../../../lease/session.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Claim, ClaimAnswer, Claimed } from '../../contract/execution-store.ts';
import { passGate } from './gates.ts';
import type { Wanted } from './ready.ts';
import type { Entry, ExecutionState } from './state.ts';
import { isAnnounced } from './workers.ts';

/** Who claims, when. */
interface Claimer {
  readonly self: SessionRecord;
  readonly now: Instant;
}

export function claim(state: ExecutionState, request: Claim): ClaimAnswer {
  const { kernel } = state;
  const now = kernel.now();
  const own = kernel.chain(request.session);
  const refusal = refuseClaims({ own, halted: kernel.halted }, now);
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  const self = own.at(-1);
  if (self === undefined) return { kind: 'refused', why: 'session-not-live' };
  const shares = request.shares.filter(({ limit }) => limit > 0);
  const from = {
    routes: routesAsked(request),
    project: request.project,
    admits: (at: Parameters<Wanted['admits']>[0]) => isAnnounced(state, request.session, at),
  };
  const claims = shares.flatMap(({ lane, limit }) =>
    claimLane(state, { wanted: { ...from, lane }, limit, dice: request.dice }, { self, now }),
  );
  const wanted = shares.map(({ lane }) => ({ ...from, lane }));
  return { kind: 'claimed', claims, ...outlook(state, wanted, now) };
}

function claimLane(
  state: ExecutionState,
  {
    wanted,
    limit,
    dice,
  }: { readonly wanted: Wanted; readonly limit: number; readonly dice: number | undefined },
  claimer: Claimer,
): readonly Claimed[] {
  const { now } = claimer;
  const lost = lostOnes(state, wanted, now);
  const some = new Set([...lost.keys(), ...state.ready.projects(wanted, now)]);
  const projects = inTurn(some, dice);
  const part = fairPart(limit, projects.length);
  const claims: Claimed[] = [];
  for (const project of projects) {
    const upTo = Math.min(limit, claims.length + part);
    const left = [...(lost.get(project) ?? [])];
    while (claims.length < upTo) {
      const id = left.shift() ?? state.ready.take(wanted, project, now);
      const entry = id === undefined ? undefined : state.entries.get(id);
      if (entry === undefined) break;
      const wasLost = entry.execution.status === 'running';
      if (wasLost || passGate(state, entry, now)) claims.push(take(state, entry, claimer));
    }
  }
  return claims;
}

/** the fence is minted for this one execution, after it was chosen. */
function take(state: ExecutionState, entry: Entry, { self, now }: Claimer): Claimed {
  const { execution: before, previous, claimedSeq, history } = entry;
  const fence = state.kernel.mintFence();
  const claimed = claimExecution(
    {
      execution: before,
      previous,
      claimedSeq,
      lost: before.status === 'running',
      lastSeq: history.length,
    },
    { fence, session: self.id, owner: self.owner, now },
  );
  const { execution, event } = claimed;
  state.append(entry, [event]);
  state.put(entry, execution);
  entry.claimedSeq = event.seq;
  return { execution, fence, previous: claimed.previous, claimedAt: now };
}

/** by project, the longest claimed first. Looks at sessions that run something, and no further. */
function lostOnes(
  state: ExecutionState,
  { routes, lane, project, admits }: Wanted,
  now: Instant,
): ReadonlyMap<ProjectName, readonly ExecutionId[]> {
  const lost: Entry[] = [];
  for (const [session, ids] of state.running) {
    const isDead = leavesWork(state.kernel.chain(session), now);
    for (const id of isDead ? ids : []) {
      const entry = state.entries.get(id);
      const execution = entry?.execution;
      if (entry === undefined || execution?.lane !== lane) continue;
      if (project !== undefined && execution.project !== project) continue;
      const route = routeOf(execution);
      if (routes.includes(route) && admits({ project: execution.project, route })) lost.push(entry);
    }
  }
  lost.sort((a, b) => (a.execution.claimedAt ?? 0) - (b.execution.claimedAt ?? 0));
  const ids = Map.groupBy(lost, ({ execution }) => execution.project);
  return new Map([...ids].map(([project, of]) => [project, of.map((each) => each.execution.id)]));
}

/** What the claimer may wait for. */
function outlook(
  state: ExecutionState,
  lanes: readonly Wanted[],
  now: Instant,
): { readonly more: boolean; readonly overdue: boolean; readonly nextReadyInMs?: number } {
  const next = lanes
    .map((wanted) => state.ready.firstAt(wanted))
    .filter((at) => at !== undefined)
    .sort((a, b) => a - b)[0];
  const isLeft = lanes.some((wanted) => lostOnes(state, wanted, now).size > 0);
  const sessions = [...state.running.keys()];
  return {
    more: isLeft || (next !== undefined && next <= now),
    overdue: sessions.some((id) => chainState(state.kernel.chain(id), now) === 'overdue'),
    ...(next === undefined ? {} : { nextReadyInMs: Math.max(0, next - now) }),
  };
}
