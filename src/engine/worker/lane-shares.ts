// How a claim is divided between lanes: interactive goes first, batch always gets something.

import { LANES, type Lane } from '../../execution/execution.ts';

export interface Share {
  readonly lane: Lane;
  readonly limit: number;
}

/** A fifth is kept for the lane that would otherwise get nothing: batch, or one that was quiet. */
const KEPT_PART = 5;

/** `quiet`: lanes that had nothing when they were last asked. */
export function sharesOf(limit: number, turn: number, quiet: ReadonlySet<Lane>): readonly Share[] {
  const favoured: Lane = quiet.has('interactive') && !quiet.has('batch') ? 'batch' : 'interactive';
  // Too few places to divide: every fifth turn is the other lane's.
  const kept =
    limit >= KEPT_PART ? Math.floor(limit / KEPT_PART) : turn % KEPT_PART === 0 ? limit : 0;
  return LANES.map((lane) => ({ lane, limit: lane === favoured ? limit - kept : kept }));
}

/** Lanes that gave less than they were asked for. */
export function quietLanes(
  shares: readonly Share[],
  claimed: readonly { readonly execution: { readonly lane: Lane } }[],
): ReadonlySet<Lane> {
  const counts = new Map<Lane, number>();
  for (const { execution } of claimed) {
    counts.set(execution.lane, (counts.get(execution.lane) ?? 0) + 1);
  }
  return new Set(
    shares.filter(({ lane, limit }) => (counts.get(lane) ?? 0) < limit).map(({ lane }) => lane),
  );
}

/** Whose turn it is, from one claim to the next. */
export class LaneTurns {
  #turn = 0;
  #quiet: ReadonlySet<Lane> = new Set();

  /** None where there is no room: the claim only asks who is overdue. */
  next(room: number): readonly Share[] {
    this.#turn += 1;
    return room <= 0 ? [] : sharesOf(room, this.#turn, this.#quiet);
  }

  heard(shares: readonly Share[], claimed: Parameters<typeof quietLanes>[1]): void {
    this.#quiet = quietLanes(shares, claimed);
  }
}
