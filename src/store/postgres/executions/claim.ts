import { refuseClaims } from '../../../execution/decide/claim.ts';
import { claimRoutes } from '../../../execution/route.ts';
import { type Fence, toFence } from '../../../lease/fence.ts';
import type { SessionId } from '../../../lease/names.ts';
import { AssertionFault } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import { OutcomeUnknown } from '../../../support/fault.ts';
import type { Claim, Claimed, ClaimResult } from '../../contract/execution-store.ts';
import { LANE_CODES, STATUS_CODES, toExecution } from '../../execution-rows.ts';
import { adoptServer } from '../adopt-server.ts';
import { commitOnce, isClash } from '../committer.ts';
import { type Queries, statement } from '../database.ts';
import { loadChains } from '../load-view.ts';
import { numbers, texts } from './arrays.ts';
import type { View } from './claim-floors.ts';
import {
  CLAIM,
  CLAIM_READY,
  type ClaimedRow,
  type ClaimRow,
  type ClaimValues,
  type Outlook,
} from './claim-statement.ts';
import { admit } from './gates.ts';
import type { Parts } from './parts.ts';

/** Each round follows a change that another transaction made. This many in a row is a bug. */
const ROUNDS_MAX = 100;

/** The number of times that one call processes gates. The next call handles the rest. */
const ADMISSIONS_MAX = 10;

const SHARERS = 4;

const WORDS = ['none', 'parked', 'given-back', 'lost'] as const;

export async function claim(parts: Parts, request: Claim): Promise<ClaimResult> {
  const { session } = request;
  const orphans = await parts.orphanedClaims.find(parts.database, session);
  if (orphans.length > 0) {
    noteAll(parts, orphans);
    return { kind: 'claimed', claims: orphans, more: true, overdue: false };
  }
  parts.orphanedClaims.sent(session);
  try {
    const result = await claimNow(parts, request);
    parts.orphanedClaims.settled(session);
    return result;
  } catch (fault) {
    if (fault instanceof OutcomeUnknown) parts.orphanedClaims.suspect(session);
    else parts.orphanedClaims.settled(session);
    throw fault;
  }
}

async function claimNow(parts: Parts, request: Claim): Promise<ClaimResult> {
  const { session } = request;
  const shares = request.shares.filter(({ limit }) => limit > 0);
  const lanes = shares.map(({ lane }) => LANE_CODES[lane]);
  const base: ClaimValues = [
    session,
    texts(claimRoutes(request)),
    numbers(lanes),
    numbers(shares.map(({ limit }) => limit)),
    numbers(lanes.map(() => 1)),
    request.project ?? null,
    request.dice ?? null,
    request.livedMs ?? 0,
  ];
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const { rows, fullInMs } = await readClaims(parts, base, lanes);
    const [outlook] = rows;
    if (outlook?.is_live === true) {
      const claims = rows.flatMap((row) => (row.id === null ? [] : [toClaimed(row, session)]));
      const newClaims = parts.orphanedClaims.deliver(session, claims);
      noteAll(parts, newClaims);
      return answerOf(newClaims, outlook, fullInMs);
    }
    const refusal = await refuseClaim(parts, session);
    if (refusal !== undefined) return refusal;
  }
  throw new AssertionFault(`X-6: a claim found nothing against it ${ROUNDS_MAX} times in vain`);
}

type ClaimView = Pick<View, 'known' | 'readsFloors'>;

const FULL_VIEW: ClaimView = { known: null, readsFloors: false };

interface ClaimRows {
  readonly rows: readonly ClaimRow[];
  /** The time until the next whole claim, if this one was partial. */
  readonly fullInMs?: number | undefined;
}

async function readClaims(
  parts: Parts,
  base: ClaimValues,
  lanes: readonly number[],
): Promise<ClaimRows> {
  // A claim without lanes asks for overdue sessions, which only a whole claim finds.
  if (lanes.length === 0) return { rows: await run(parts, base, FULL_VIEW) };
  const { floors } = parts;
  const [session, routes, , , , project] = base;
  const view = floors.begin(JSON.stringify([session, routes, lanes, project]));
  try {
    const open = await run(parts, base, view);
    const rows = open[0]?.gate === true ? await runGated(parts, { base, lanes, view }) : open;
    const claimed = rows.filter(({ id }) => id !== null).length;
    const fullInMs = await floors.done(view, { claimed, floors: rows[0]?.floors ?? null });
    return { rows, fullInMs };
  } catch (fault) {
    floors.failed(view);
    throw fault;
  }
}

function noteAll({ ledger }: Parts, claims: readonly Claimed[]): void {
  for (const { execution, fence } of claims) ledger.noteClaim(execution.id, fence, execution.seq);
}

/** A claim that lost a race for a seq in history sees the winner in its next try. */
async function run(parts: Parts, base: ClaimValues, view: ClaimView): Promise<readonly ClaimRow[]> {
  // A claim without lanes takes nothing, so it does not make a submit wait.
  const canJoin = view !== FULL_VIEW;
  for (let tries = 1; ; tries += 1) {
    try {
      const values = [...base, false, view.known, view.readsFloors];
      const joined = tries === 1 && canJoin ? await parts.claimBehind.join(values) : undefined;
      const rows =
        joined ??
        (await parts.boundaries.around(() => parts.database.rows<ClaimRow>(CLAIM_READY, values)));
      if (rows[0]?.takes_over !== true) return rows;
      return await parts.boundaries.around(() => parts.database.rows<ClaimRow>(CLAIM, values));
    } catch (fault) {
      if (!isClash(fault) || tries >= ROUNDS_MAX) throw fault;
    }
  }
}

interface Gated {
  readonly base: ClaimValues;
  readonly lanes: readonly number[];
  readonly view: ClaimView;
}

/**
 * Processes the gates in the order of the claim, then claims in the same transaction. The
 * claim's time counts.
 */
async function runGated(parts: Parts, { base, lanes, view }: Gated): Promise<readonly ClaimRow[]> {
  let sharers = lanes.map(() => 1);
  for (let admissions = 1; ; admissions += 1) {
    const rows = await commitOnce(parts, async (queries) => {
      const { projects, isMore, settle } = await admit(queries, base, view.known);
      sharers = lanes.map((lane, nth) => Math.max(sharers[nth] ?? 1, projects.get(lane) ?? 1));
      if (isMore && admissions < ADMISSIONS_MAX) {
        await settle([]);
        return undefined;
      }
      // Projects whose executions now wait for a slot still count as sharing, as when the call
      // began.
      const shared = base.with(SHARERS, numbers(sharers));
      const values = [...shared, true, view.known, view.readsFloors];
      const claimed = await queries.rows<ClaimRow>(CLAIM, values);
      const isLeft = await settle(claimed.filter((row) => row.id !== null));
      return claimed.map((row) => ({ ...row, gate: row.gate || isLeft }));
    });
    if (rows !== undefined) return rows;
  }
}

function answerOf(claims: readonly Claimed[], outlook: Outlook, fullInMs?: number): ClaimResult {
  const more = outlook.more || outlook.gate;
  const nextInMs = more ? 0 : soonest(outlook.next_in_ms, fullInMs ?? null);
  return {
    kind: 'claimed',
    claims,
    more,
    overdue: outlook.overdue,
    ...(nextInMs === null ? {} : { nextReadyInMs: Math.max(0, nextInMs) }),
  };
}

function soonest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/**
 * Fills in the columns that every claim sets to the same values, which the statement does not
 * return.
 */
function toClaimed(row: ClaimedRow, session: SessionId): Claimed {
  const previous = WORDS[row.was] ?? 'none';
  const execution = toExecution({
    ...row,
    status: STATUS_CODES.running,
    hold: 0,
    gated: false,
    ready_at: null,
    session_id: session,
    wake_after: 0,
    ended_at: null,
  });
  const fence = toFence(row.fence ?? 0);
  return { execution, fence, previous, claimedAt: row.claimed_at as Instant };
}

// The rest of this file explains refused claims.

const HALTED = statement('select m.halted from hf.meta m where m.id = 1');

/**
 * Returns undefined if the server had changed or the obstacle is gone. The caller then tries again.
 */
export async function refuseClaim(
  { database, policy }: Parts,
  session: SessionId,
): Promise<ClaimResult | undefined> {
  await adoptServer(database, policy);
  const halted = await loadHalted(database);
  const { now, chains } = await loadChains(database, [session]);
  const refusal = refuseClaims({ own: chains[0] ?? [], halted }, now);
  return refusal === undefined ? undefined : { kind: 'refused', ...refusal };
}

async function loadHalted(queries: Queries): Promise<Fence | undefined> {
  const [row] = await queries.rows<{ halted: number | null }>(HALTED, []);
  const halted = row?.halted ?? undefined;
  return halted === undefined ? undefined : toFence(halted);
}
