// Limits by key: how many of a key are open and started at once, and how many start in a time. Pure.

import { type Instant, laterBy } from '../../support/clock.ts';
import type { ExecutionRecord, RateKey } from '../execution.ts';
import { withHold, withoutHolds } from './record.ts';

/** The places of a concurrency key. */
export interface Places {
  readonly taken: number;
  readonly limit: number;
}

export function hasFreePlace({ taken, limit }: Places): boolean {
  return taken < limit;
}

/**
 * What is remembered of a rate key: the last turn given out, and how many of the burst are left. Zero:
 * that turn was the last of a burst. Less: it was one of the evenly spaced ones.
 */
export interface RateState {
  readonly lastAt: Instant;
  readonly left: number;
}

export interface Turn {
  readonly at: Instant;
  readonly state: RateState;
}

/**
 * The next turn of a rate key. At most `limit` turns are in any `perMs`: a burst begins only when the key
 * was idle for `perMs`; after the last of a burst comes a pause of `perMs`; after that, `limit` turns
 * take at least `perMs` because each comes a `perMs / limit` after the one before.
 */
export function decideRate(
  state: RateState | undefined,
  { limit, perMs }: Pick<RateKey, 'limit' | 'perMs'>,
  now: Instant,
): Turn {
  if (state === undefined || laterBy(state.lastAt, perMs) <= now) {
    return { at: now, state: { lastAt: now, left: limit - 1 } };
  }
  // A limit that was lowered since takes away from the burst.
  const left = state.left > 0 ? Math.min(state.left, limit - 1) : state.left;
  if (left > 0) {
    const at = later(now, state.lastAt);
    return { at, state: { lastAt: at, left: left - 1 } };
  }
  const gapMs = state.left < 0 ? Math.ceil(perMs / limit) : perMs;
  const at = later(now, laterBy(state.lastAt, gapMs));
  return { at, state: { lastAt: at, left: -1 } };
}

export interface GateView {
  readonly execution: ExecutionRecord;
  /** Of its concurrency key, when it has one. */
  readonly places: Places | undefined;
  /** Of its rate key, when it has one and it was used. */
  readonly rate: RateState | undefined;
}

export type GateDecision =
  /** Let through; it takes a place when it has a concurrency key, and may have to start later. */
  | { readonly kind: 'pass'; readonly execution: ExecutionRecord; readonly rate?: RateState }
  | { readonly kind: 'behind'; readonly execution: ExecutionRecord };

/** For an execution that is ready and gated. */
export function decideGate({ execution, places, rate }: GateView, now: Instant): GateDecision {
  if (places !== undefined && !hasFreePlace(places)) {
    return { kind: 'behind', execution: withHold(execution, 'behind-key') };
  }
  return { kind: 'pass', ...letThrough(execution, rate, now) };
}

/** Also for the one that is handed the place of another. */
export function letThrough(
  execution: ExecutionRecord,
  rate: RateState | undefined,
  now: Instant,
): { readonly execution: ExecutionRecord; readonly rate?: RateState } {
  const through: ExecutionRecord = {
    ...withoutHolds(execution, 'behind-key'),
    gated: false,
    hasPlace: execution.concurrency !== undefined,
  };
  if (execution.rate === undefined) return { execution: through };
  const turn = decideRate(rate, execution.rate, now);
  const readyAt = later(execution.readyAt ?? now, turn.at);
  // Who need not wait keeps the time since which it is ready.
  return {
    execution: turn.at <= now ? through : { ...through, readyAt },
    rate: turn.state,
  };
}

/** May a place that became free be handed to this one? */
export function mayBeHandedPlace(execution: ExecutionRecord): boolean {
  return execution.gated && execution.holds.every((hold) => hold === 'behind-key');
}

function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b;
}
