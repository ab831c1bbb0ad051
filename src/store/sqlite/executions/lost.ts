// Executions that dead sessions left. A claim finds the sessions that run something by steps through an index,
// one for each session of its project, and reads the executions of dead sessions only. It looks at a bounded number of
// both, from a random place on, so that no tenant can make it long; later claims look at the rest.

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
import { lastSeqOf } from './owner.ts';

const NEXT_CARRIER = positional(
  'after',
  `
  select session_id
    from execution indexed by execution_running
   where status = 1
     and session_id > :after
   order by session_id
   limit 1`,
);

const NEXT_CARRIER_OF_PROJECT = positional(
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

// Without the rows themselves. `+ 0`: for a bare parameter as the limit SQLite plans the statement at every call.
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
  /** They, or one above them, have ended as a stored fact. */
  readonly dead: readonly SessionId[];
  /** The clock says that one of the others should have: a sweep would find out. */
  readonly isOverdue: boolean;
}

/** One claim looks at no more sessions, and at no more of what the dead ones left. */
export const CARRIERS_MAX = 1_000;
export const LEFT_MAX = 2_000;

/** Of one project, or of all; `dice` is the place to start from, between 0 and 1. */
interface Range {
  readonly project: string | undefined;
  readonly dice: number | undefined;
}

export function runningSessions(tx: Transaction, range: Range): RunningSessions {
  const dead: SessionId[] = [];
  let isOverdue = false;
  for (const id of carriers(tx, range)) {
    if (!tx.isOpen(id)) dead.push(id);
    else isOverdue ||= tx.arrays(IS_OVERDUE).get(id, tx.now) !== undefined;
  }
  return { dead, isOverdue };
}

/** Those after a random id, then those before it. */
function* carriers(tx: Transaction, { project, dice = 0 }: Range): Generator<SessionId> {
  const first = Math.floor(dice * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
  let looks = 0;
  for (const [after, upTo] of [
    [first, undefined],
    ['', first],
  ] as const) {
    for (
      let id = nextCarrier(tx, project, after);
      id !== undefined;
      id = nextCarrier(tx, project, id)
    ) {
      looks += 1;
      if (looks > CARRIERS_MAX || (upTo !== undefined && id > upTo)) return;
      yield id;
    }
  }
}

function nextCarrier(
  tx: Transaction,
  project: string | undefined,
  after: string,
): SessionId | undefined {
  const found =
    project === undefined
      ? tx.arrays<readonly [SessionId]>(NEXT_CARRIER).get(after)
      : tx.arrays<readonly [SessionId]>(NEXT_CARRIER_OF_PROJECT).get(project, after);
  return found?.[0];
}

/** What is left of one execution's claim. */
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

/** What these sessions left, the longest claimed first. */
export function leftByDead(
  tx: Transaction,
  dead: readonly SessionId[],
  dice: number | undefined,
): readonly Left[] {
  const left: Left[] = [];
  for (const session of dead) {
    for (const values of leftBy(tx, session, { limit: LEFT_MAX - left.length, dice })) {
      const [rowId, id, project, pipeline, lane, claimedAt, claimedSeq, fruitlessClaims] = values;
      const hasRecorded = fruitlessClaims === 0 || lastSeqOf(tx, id) > claimedSeq;
      left.push({
        ...{ rowId, id, project, pipeline, lane, claimedAt, session },
        isSuspect: isSuspect({ fruitlessClaims, hasRecorded }),
      });
    }
    if (left.length >= LEFT_MAX) break;
  }
  return left.sort(byClaim);
}

/** Where a session left more than the limit, those after a random one, then those from the first on. */
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
  const window = statement.all(session, first + Math.floor(dice * (last - first)), limit);
  return [...window, ...rows.slice(0, limit - window.length)];
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
