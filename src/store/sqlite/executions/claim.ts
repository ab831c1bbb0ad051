import { type Previous, refuseClaims } from '../../../execution/decide/claim.ts';
import { claimerOf } from '../../../execution/decide/suspect.ts';
import { claimRoutes, isForAnnounced } from '../../../execution/route.ts';
import { toFence } from '../../../lease/fence.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { SessionRecord } from '../../../lease/session.ts';
import { assert } from '../../../support/assert.ts';
import type { Claim, Claimed, ClaimResult } from '../../contract/execution-store.ts';
import { LANE_CODES, PREVIOUS_CODES, STATUS_CODES, toExecution } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import { loadChain, loadMeta } from '../load-view.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';
import {
  type ClaimCandidate,
  chooseCandidates,
  chooseSuspect,
  isAdmitted,
  loadHeads,
  outlook,
} from './candidates.ts';
import type { ChangingRow } from './load-execution.ts';
import { leftByDead, runningSessions } from './lost.ts';
import { lastSeqOf } from './owner.ts';

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
    .map(({ lane, limit }) => {
      const served = { lane: LANE_CODES[lane], pipelines, announced, project };
      return {
        ...{ ...served, limit, dice, heads: loadHeads(tx, served) },
        left: left.filter((each) => each.lane === LANE_CODES[lane]),
      };
    });
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

// Writes the claim into the chosen executions.

// Mints one fence per execution from the store's one sequence (T-2, X-6).
const MINT = `
  update meta
     set fence = fence + :count
   where id = 1
  returning fence`;

// One statement for all rows is a quarter cheaper than one per row. A flush that throws is undone
// as a whole, so `or fail` lets SQLite skip saving the old pages for this statement.
const CLAIM = positional(
  'base session now rows',
  `
  update or fail execution
     set status = 1,
         fence = :base + pick.key,
         session_id = :session,
         claimed_at = :now,
         claimed_seq = seq + 1,
         seq = seq + 1,
         ready_at = null,
         fruitless = 0,
         wake_after = 0
    from json_each(:rows) as pick
   where execution.row_id = pick.value`,
);

const CLAIMED = positional(
  'now none parked givenBack rows',
  `
  insert or fail into history (row_id, seq, at, fence, kind, body)
  select execution.row_id, execution.seq, :now, execution.fence, 'claimed',
         case execution.previous
           when ${PREVIOUS_CODES.none} then :none
           when ${PREVIOUS_CODES.parked} then :parked
           else :givenBack
         end
    from json_each(:rows) as pick
   cross join execution on execution.row_id = pick.value`,
);

// Appends after the last event in history, whatever seq the row has.
const CLAIM_LOST = positional(
  'fence session now seq fruitless rowId',
  `
  update execution
     set fence = :fence,
         session_id = :session,
         claimed_at = :now,
         claimed_seq = :seq,
         seq = :seq,
         fruitless = :fruitless
   where row_id = :rowId`,
);

const CLAIMED_LOST = positional(
  'rowId seq now fence body',
  `
  insert into history (row_id, seq, at, fence, kind, body)
  values (:rowId, :seq, :now, :fence, 'claimed', :body)`,
);

const PREVIOUS: readonly Exclude<Previous, 'lost'>[] = ['none', 'parked', 'given-back'];

/** Takes all ready executions in one statement, then each lost one by itself. */
function takeAll(
  tx: Transaction,
  chosen: readonly ClaimCandidate[],
  self: SessionRecord,
): readonly Claimed[] {
  if (chosen.length === 0) return [];
  const last = tx.get<{ fence: number }>(MINT, { count: chosen.length })?.fence;
  assert(last !== undefined, 'T-2: the sequence has a row');
  const bodyOf = (previous: Previous): string =>
    JSON.stringify({ session: self.id, owner: self.owner, previous });
  const ready = chosen.filter(({ isLost }) => !isLost);
  const base = last - chosen.length + 1;
  if (ready.length > 0) {
    const rows = JSON.stringify(ready.map(({ row }) => row.row_id));
    tx.statement(CLAIM).run(base, self.id, tx.now, rows);
    const bodies = PREVIOUS.map(bodyOf);
    tx.statement(CLAIMED).run(tx.now, ...bodies, rows);
  }
  let fence = base;
  for (const { row } of ready) {
    row.seq += 1;
    row.fruitless = 0;
    row.fence = fence++;
  }
  for (const { row, isLost } of chosen) {
    if (isLost) takeLost(tx, row, { fence: fence++, session: self.id, body: bodyOf('lost') });
  }
  return chosen.map(({ row, isLost }) => claimedRow(tx, row, { isLost, session: self.id }));
}

function takeLost(
  tx: Transaction,
  row: ChangingRow,
  claim: { readonly fence: number; readonly session: SessionId; readonly body: string },
): void {
  const { fence, session, body } = claim;
  const lastSeq = lastSeqOf(tx, row.id);
  row.fruitless = lastSeq === row.claimed_seq ? row.fruitless + 1 : 1;
  row.seq = lastSeq + 1;
  row.fence = fence;
  tx.statement(CLAIM_LOST).run(fence, session, tx.now, row.seq, row.fruitless, row.row_id);
  tx.statement(CLAIMED_LOST).run(row.row_id, row.seq, tx.now, fence, body);
}

/** Builds the claimed record without reading the row again. */
function claimedRow(
  tx: Transaction,
  row: ChangingRow,
  { isLost, session }: { readonly isLost: boolean; readonly session: SessionId },
): Claimed {
  const { id, row_id: rowId, seq, news: inboxCount } = row;
  tx.connection.keepTail(id, { rowId, seq, inboxCount });
  row.status = STATUS_CODES.running;
  row.session_id = session;
  row.ready_at = null;
  row.claimed_at = tx.now;
  row.wake_after = 0;
  const execution = toExecution(row);
  tx.claimed(execution.id);
  return {
    execution,
    fence: execution.fence ?? toFence(0),
    previous: isLost ? 'lost' : (PREVIOUS[row.previous] ?? 'none'),
    claimedAt: tx.now,
  };
}
