import { refuseClaims } from '../../../execution/decide/claim.ts';
import { claimerOf } from '../../../execution/decide/suspect.ts';
import { claimRoutes, isForAnnounced } from '../../../execution/route.ts';
import { toFence } from '../../../lease/fence.ts';
import type { SessionId } from '../../../lease/names.ts';
import { assert } from '../../../support/assert.ts';
import type { Claim, ClaimResult } from '../../contract/execution-store.ts';
import { LANE_CODES } from '../../execution-rows.ts';
import { loadChain, loadMeta } from '../load-view.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';
import { chooseCandidates, chooseSuspect, isAdmitted, outlook } from './candidates.ts';
import { leftByDead, runningSessions } from './lost.ts';
import { takeAll } from './take-claims.ts';

const NOTHING: ReadonlySet<string> = new Set();

export function claim(tx: Transaction, request: Claim): ClaimResult {
  const own = loadChain(tx, request.session);
  const { halted } = loadMeta(tx);
  const view = { own, halted: halted === null ? undefined : toFence(halted) };
  const refusal = refuseClaims(view, tx.now);
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  const self = own.at(-1);
  assert(self !== undefined, 'X-6: a session that is alive is stored');
  const { project, dice } = request;
  const { dead, isOverdue, isCut } = runningSessions(tx, { project, dice });
  const pipelines: readonly string[] = claimRoutes(request);
  const announced = pipelines.some(isForAnnounced) ? announcedBy(tx, request.session) : NOTHING;
  const abandoned = leftByDead(tx, dead, dice);
  const left = abandoned.left.filter(
    (each) =>
      (project === undefined || each.project === project) &&
      pipelines.includes(each.pipeline) &&
      isAdmitted({ announced }, each),
  );
  const wanted = request.shares
    .filter(({ limit }) => limit > 0)
    .map(({ lane, limit }) => ({
      ...{ lane: LANE_CODES[lane], limit, pipelines, announced, project, dice },
      left: left.filter((each) => each.lane === LANE_CODES[lane]),
    }));
  const claimer = claimerOf(self, request.livedMs, tx.now);
  const [suspect] = chooseSuspect(tx, wanted, { id: self.id, claimer, dice });
  const others = wanted.flatMap((each) => {
    // The suspect counts against the limit of its lane.
    const limit = suspect?.row.lane === each.lane ? each.limit - 1 : each.limit;
    return chooseCandidates(tx, { ...each, limit });
  });
  const chosen = suspect === undefined ? others : [suspect, ...others];
  const claims = takeAll(tx, chosen, self);
  const isPart = isCut || abandoned.isCut;
  return {
    kind: 'claimed',
    claims,
    ...outlook(tx, wanted, { chosen, isPart }),
    overdue: isOverdue,
  };
}

const ROUTES = 'select project, route from worker_route where session_id = :session';

/** Project and route of the pinned executions that this worker may claim. */
function announcedBy(tx: ReadTransaction, session: SessionId): ReadonlySet<string> {
  const rows = tx.all<{ project: string; route: string }>(ROUTES, { session });
  return new Set(rows.map(({ project, route }) => `${project}\0${route}`));
}
