// What dead sessions left. Who runs something is found by steps through the index, one for each
// session: what the living run is not looked at.

import {
  type Claimer,
  isSuspect,
  isTried,
  mayTry,
  SUSPECT_FROM,
} from '../../../execution/decide/suspect.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { positional } from '../connection.ts';
import { loadChain } from '../load-view.ts';
import type { Transaction } from '../transaction.ts';
import { lastSeqOf } from './owner-view.ts';

const NEXT_RUNNING = positional(
  'after',
  `
  select session_id
    from execution indexed by execution_running
   where status = 1
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

// All that a dead session has left, without the rows themselves: it is not more than one process ran.
const LEFT = positional(
  'session',
  `
  select row_id, id, project, pipeline, lane, claimed_at, claimed_seq, fruitless
    from execution indexed by execution_running
   where status = 1
     and session_id = :session`,
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
  /** They, or one above them, have ended as a stored fact. */
  readonly dead: readonly SessionId[];
  /** The clock says that one of the others should have: a sweep would find out. */
  readonly isOverdue: boolean;
}

export function runningSessions(tx: Transaction): RunningSessions {
  const dead: SessionId[] = [];
  let isOverdue = false;
  for (let id = nextRunning(tx, ''); id !== undefined; id = nextRunning(tx, id)) {
    if (!tx.isOpen(id)) dead.push(id);
    else isOverdue ||= tx.arrays(IS_OVERDUE).get(id, tx.now) !== undefined;
  }
  return { dead, isOverdue };
}

function nextRunning(tx: Transaction, after: string): SessionId | undefined {
  return tx.arrays<readonly [SessionId]>(NEXT_RUNNING).get(after)?.[0];
}

/** What is left of one execution's claim. */
export interface Left {
  readonly rowId: number;
  readonly id: string;
  readonly project: string;
  readonly pipeline: string;
  readonly claimedAt: Instant;
  readonly session: SessionId;
  readonly isSuspect: boolean;
}

/** The longest claimed first. */
export function leftByDead(
  tx: Transaction,
  wanted: {
    readonly dead: readonly SessionId[];
    readonly pipelines: readonly string[];
    readonly lane: number;
    readonly project: string | undefined;
  },
): readonly Left[] {
  const left: Left[] = [];
  for (const session of wanted.dead) {
    for (const values of tx.arrays<LeftValues>(LEFT).all(session)) {
      const [rowId, id, project, pipeline, lane, claimedAt, claimedSeq, fruitlessClaims] = values;
      if (lane !== wanted.lane || !wanted.pipelines.includes(pipeline)) continue;
      if (wanted.project !== undefined && project !== wanted.project) continue;
      const hasRecorded = fruitlessClaims === 0 || lastSeqOf(tx, id) > claimedSeq;
      left.push({
        ...{ rowId, id, project, pipeline, claimedAt, session },
        isSuspect: isSuspect({ fruitlessClaims, hasRecorded }),
      });
    }
  }
  return left.sort(byClaim);
}

/** The one suspect among them that this session may try now. */
export function suspectAmong(
  tx: Transaction,
  left: readonly Left[],
  { id, claimer }: { readonly id: SessionId; readonly claimer: Claimer },
): Left | undefined {
  const suspects = left.filter((each) => each.isSuspect).sort(byClaim);
  if (suspects.length === 0 || triesOne(tx, id, claimer)) return undefined;
  return suspects.find(({ claimedAt, session }) => {
    const holder = loadChain(tx, session).at(-1);
    return mayTry({ claimedAt, holder }, claimer, tx.now);
  });
}

function triesOne(tx: Transaction, session: SessionId, claimer: Claimer): boolean {
  const running = tx.arrays<TriedValues>(CLAIMED_AS_SUSPECTS).all(session);
  return running.some(([id, claimedAt, claimedSeq, fruitlessClaims]) => {
    const hasRecorded = lastSeqOf(tx, id) > claimedSeq;
    return isTried({ claimedAt, fruitlessClaims, hasRecorded }, claimer, tx.now);
  });
}

function byClaim(a: Left, b: Left): number {
  return a.claimedAt - b.claimedAt || (a.id < b.id ? -1 : 1);
}

type TriedValues = readonly [
  id: string,
  claimedAt: Instant,
  claimedSeq: number,
  fruitlessClaims: number,
];

type LeftValues = readonly [
  rowId: number,
  id: string,
  project: string,
  pipeline: string,
  lane: number,
  claimedAt: Instant,
  claimedSeq: number,
  fruitlessClaims: number,
];
