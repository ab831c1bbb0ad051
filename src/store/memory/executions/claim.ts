import { claimExecution, fairPart, inTurn, refuseClaims } from '../../../execution/decide/claim.ts';
import { routesAsked } from '../../../execution/route.ts';
import type { SessionRecord } from '../../../lease/session.ts';
import { chainState } from '../../../lease/session.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Claim, ClaimAnswer, Claimed } from '../../contract/execution-store.ts';
import { passGate } from './gates.ts';
import { lostOnes, suspectFor } from './lost.ts';
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
  const wanted = shares.map(({ lane }) => ({ ...from, lane }));
  const suspect = suspectFor(state, wanted, { self, now, livedMs: request.livedMs });
  const tried = suspect === undefined ? [] : [take(state, suspect, { self, now })];
  const others = shares.flatMap(({ lane, limit }) => {
    // It has a place as any other has.
    const places = suspect?.execution.lane === lane ? limit - 1 : limit;
    const within = { wanted: { ...from, lane }, limit: places, dice: request.dice };
    return claimLane(state, within, { self, now });
  });
  const claims = [...tried, ...others];
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
