// Executions that dead sessions left. A claim steps through an index of the sessions that run
// something in its project, and reads only the executions of dead ones. It reads a bounded number
// of both, starting at a random position, so that no tenant can make it slow. Later claims read the
// rest.

import {
  CLAIM_SCAN_MAX,
  type Claimer,
  isSuspect,
  isTried,
  mayTry,
  mayTryAny,
  SUSPECT_FROM,
} from '../../../execution/decide/suspect.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { positional } from '../connection.ts';
import { loadChain } from '../load-view.ts';
import type { Transaction } from '../transaction.ts';
import { lastSeqOf } from './owner.ts';

const NEXT_HOLDER = positional(
  'after',
  `
  select session_id
    from execution indexed by execution_running
   where status = 1
     and session_id > :after
   order by session_id
   limit 1`,
);

const NEXT_HOLDER_OF_PROJECT = positional(
  'project after',
  `
  select session_id
    from execution indexed by execution_carrier
   where status = 1
     and project = :project
     and session_id > :after
   order by session_id
   limit 1`,
);

const IS_OVERDUE = positional(
  'id now',
  `
  select 1
    from session as holder
    join json_each(holder.path) as step
    join session as member on member.id = step.value
   where holder.id = :id
     and member.expires_at <= :now
   limit 1`,
);

// Selects no large columns. With a bare parameter as the limit, SQLite would plan the statement at
// every call. Hence `+ 0`.
const LEFT = positional(
  'session after limit',
  `
  select row_id, id, project, pipeline, lane, claimed_at, claimed_seq, fruitless
    from execution indexed by execution_running
   where status = 1
     and session_id = :session
     and row_id > :after
   order by row_id
   limit :limit + 0`,
);

const LAST_LEFT = positional(
  'session',
  `
  select row_id
    from execution indexed by execution_running
   where status = 1
     and session_id = :session
   order by row_id desc
   limit 1`,
);

const CLAIMED_AS_SUSPECTS = positional(
  'session',
  `
  select id, claimed_at, claimed_seq, fruitless
    from execution indexed by execution_running
   where status = 1
     and session_id = :session
     and fruitless >= ${SUSPECT_FROM}`,
);

export interface RunningSessions {
  /** These sessions, or an ancestor of each, have ended as a stored fact. */
  readonly dead: readonly SessionId[];
  /** One of the other sessions is overdue. A sweep would end it. */
  readonly isOverdue: boolean;
  /** The claim stopped at its bound, so it may have missed some. */
  readonly isCut: boolean;
}

/** One project, or all. `dice` is the start position, between 0 and 1. */
interface Range {
  readonly project: string | undefined;
  readonly dice: number | undefined;
}

export function runningSessions(tx: Transaction, range: Range): RunningSessions {
  const dead: SessionId[] = [];
  let isOverdue = false;
  let visited = 0;
  for (const id of holders(tx, range)) {
    visited += 1;
    if (!tx.isOpen(id)) dead.push(id);
    else isOverdue ||= tx.arrays(IS_OVERDUE).get(id, tx.now) !== undefined;
  }
  return { dead, isOverdue, isCut: visited === CLAIM_SCAN_MAX.sessions };
}

/** Yields the sessions after a random id, then those before it. */
function* holders(tx: Transaction, { project, dice = 0 }: Range): Generator<SessionId> {
  const first = Math.floor(dice * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
  let visited = 0;
  for (const [after, upTo] of [
    [first, undefined],
    ['', first],
  ] as const) {
    for (
      let id = nextHolder(tx, project, after);
      id !== undefined;
      id = nextHolder(tx, project, id)
    ) {
      visited += 1;
      if (visited > CLAIM_SCAN_MAX.sessions || (upTo !== undefined && id > upTo)) return;
      yield id;
    }
  }
}

function nextHolder(
  tx: Transaction,
  project: string | undefined,
  after: string,
): SessionId | undefined {
  const found =
    project === undefined
      ? tx.arrays<readonly [SessionId]>(NEXT_HOLDER).get(after)
      : tx.arrays<readonly [SessionId]>(NEXT_HOLDER_OF_PROJECT).get(project, after);
  return found?.[0];
}

/** An execution whose claim was lost. */
export interface Left {
  readonly rowId: number;
  readonly id: string;
  readonly project: string;
  readonly pipeline: string;
  readonly lane: number;
  readonly claimedAt: Instant;
  readonly session: SessionId;
  readonly isSuspect: boolean;
}

export interface LeftWork {
  /** The longest claimed first. */
  readonly left: readonly Left[];
  /** A session left more than its part of the bound. */
  readonly isCut: boolean;
}

/** Lists the executions that these sessions left. */
export function leftByDead(
  tx: Transaction,
  dead: readonly SessionId[],
  dice: number | undefined,
): LeftWork {
  const left: Left[] = [];
  let isCut = false;
  for (const [nth, session] of dead.entries()) {
    // Each session has its part of the bound, so that none can hide what another left.
    const limit = Math.floor((CLAIM_SCAN_MAX.left - left.length) / (dead.length - nth));
    const rows = leftBy(tx, session, { limit, dice });
    isCut ||= rows.length === limit;
    for (const values of rows) {
      const [rowId, id, project, pipeline, lane, claimedAt, claimedSeq, claimsWithoutProgress] =
        values;
      const hasRecorded = claimsWithoutProgress === 0 || lastSeqOf(tx, id) > claimedSeq;
      left.push({
        ...{ rowId, id, project, pipeline, lane, claimedAt, session },
        isSuspect: isSuspect({ claimsWithoutProgress, hasRecorded }),
      });
    }
  }
  return { left: left.sort(byClaim), isCut };
}

/**
 * If a session left more than the limit, this returns those after a random row, then those from the
 * first row on.
 */
function leftBy(
  tx: Transaction,
  session: SessionId,
  { limit, dice = 0 }: { readonly limit: number; readonly dice: number | undefined },
): readonly LeftValues[] {
  const statement = tx.arrays<LeftValues>(LEFT);
  const rows = statement.all(session, 0, limit + 1);
  if (rows.length <= limit) return rows;
  const first = rows[0]?.[0] ?? 0;
  const last = tx.arrays<readonly [number]>(LAST_LEFT).get(session)?.[0] ?? first;
  const window = statement.all(session, first - 1 + Math.floor(dice * (last - first + 1)), limit);
  return [...window, ...rows.slice(0, limit - window.length)];
}

interface Trying {
  readonly id: SessionId;
  readonly claimer: Claimer;
  readonly dice: number | undefined;
}

/** Returns the one suspect that this session may try now. */
export function suspectAmong(
  tx: Transaction,
  left: readonly Left[],
  { id, claimer, dice = 0 }: Trying,
): Left | undefined {
  if (!mayTryAny(claimer, tx.now)) return undefined;
  const suspects = left.filter((each) => each.isSuspect).sort(byClaim);
  if (suspects.length === 0 || triesOne(tx, id, claimer)) return undefined;
  const unseen = Math.max(0, suspects.length - CLAIM_SCAN_MAX.suspects);
  const first = Math.floor(dice * (unseen + 1));
  return suspects.slice(first, first + CLAIM_SCAN_MAX.suspects).find(({ claimedAt, session }) => {
    const holder = loadChain(tx, session).at(-1);
    return mayTry({ claimedAt, holder }, claimer, tx.now);
  });
}

function triesOne(tx: Transaction, session: SessionId, claimer: Claimer): boolean {
  const running = tx.arrays<TriedValues>(CLAIMED_AS_SUSPECTS).all(session);
  return running.some(([id, claimedAt, claimedSeq, claimsWithoutProgress]) => {
    const hasRecorded = lastSeqOf(tx, id) > claimedSeq;
    return isTried({ claimedAt, claimsWithoutProgress, hasRecorded }, claimer, tx.now);
  });
}

function byClaim(a: Left, b: Left): number {
  return a.claimedAt - b.claimedAt || (a.id < b.id ? -1 : 1);
}

type TriedValues = readonly [
  id: string,
  claimedAt: Instant,
  claimedSeq: number,
  claimsWithoutProgress: number,
];

type LeftValues = readonly [
  rowId: number,
  id: string,
  project: string,
  pipeline: string,
  lane: number,
  claimedAt: Instant,
  claimedSeq: number,
  claimsWithoutProgress: number,
];
