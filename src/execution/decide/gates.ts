// Limits by key: how many executions of a key are open and started at once, and how many start
// within a time. Pure.

import { type Instant, laterBy } from '../../support/clock.ts';
import type { ExecutionRecord, RateKey } from '../execution.ts';
import { withHold, withoutHolds } from './record.ts';

/** The slots of a concurrency key. */
export interface ConcurrencySlots {
  readonly taken: number;
  readonly limit: number;
}

export function hasFreeSlot({ taken, limit }: ConcurrencySlots): boolean {
  return taken < limit;
}

/**
 * The last turn of a rate key, and the rest of its burst. Zero: that turn was the last of a burst.
 * Negative: it was an evenly spaced one.
 */
export interface RateTurns {
  readonly lastAt: Instant;
  readonly left: number;
}

/** A time, and the number of starts at it. */
export type Starts = readonly [at: Instant, count: number];

/**
 * The state of a rate key. Turns are a plan that spreads the waiting executions. Starts are what
 * happened, and they decide: a worker may reach a turn late, and then several at once.
 */
export interface RateState extends RateTurns {
  /** The longest period that the key was used with. */
  readonly perMs: number;
  /** The starts of the last `perMs`, oldest first. */
  readonly starts: readonly Starts[];
  /** Executions that reached their turn, found no room, and have not started yet. */
  readonly late: number;
}

export interface Turn {
  readonly at: Instant;
  readonly state: RateTurns;
}

/**
 * The next turn of a rate key, if all earlier ones start on time. Any `perMs` has at most `limit`
 * turns. A burst begins only after the key was idle for `perMs`, and a pause of `perMs` follows it.
 * After that, each turn comes `perMs / limit` after the one before, so `limit` turns take at least
 * `perMs`.
 */
export function decideRate(
  state: RateTurns | undefined,
  { limit, perMs }: Pick<RateKey, 'limit' | 'perMs'>,
  now: Instant,
): Turn {
  if (state === undefined || laterBy(state.lastAt, perMs) <= now) {
    return { at: now, state: { lastAt: now, left: limit - 1 } };
  }
  // A lowered limit shortens the burst.
  const left = state.left > 0 ? Math.min(state.left, limit - 1) : state.left;
  if (left > 0) {
    const at = later(now, state.lastAt);
    return { at, state: { lastAt: at, left: left - 1 } };
  }
  const gapMs = state.left < 0 ? Math.ceil(perMs / limit) : perMs;
  const at = later(now, laterBy(state.lastAt, gapMs));
  return { at, state: { lastAt: at, left: -1 } };
}

/** Above this many entries, the state merges starts that are close to each other. */
const STARTS_MAX = 128;

/**
 * Adds starts that just happened. Above the limit, merges those of each 64th of the period into the
 * newest. Merged starts count as later than they were, so the rate limit still holds.
 */
export function withStarts(rate: RateState, at: Instant, count: number): RateState {
  if (count === 0) return rate;
  const { perMs } = rate;
  const starts: Starts[] = rate.starts.filter(([started]) => laterBy(started, perMs) > at);
  starts.push([at, count]);
  return {
    ...rate,
    starts: starts.length > STARTS_MAX ? merged(starts, Math.ceil(perMs / 64)) : starts,
    lastAt: later(rate.lastAt, at),
    late: Math.max(0, rate.late - count),
  };
}

function merged(starts: readonly Starts[], widthMs: number): readonly Starts[] {
  const slots = Map.groupBy(starts, ([at]) => Math.floor(at / widthMs));
  return [...slots.values()].map((slot) => [
    slot.reduce((last, [at]) => later(last, at), 0 as Instant),
    slot.reduce((sum, [, count]) => sum + count, 0),
  ]);
}

/**
 * When the next execution may start, or the one after `ahead` others. Each start frees its room
 * `perMs` later.
 */
function roomAt(
  { starts }: Pick<RateState, 'starts'>,
  { limit, perMs }: Pick<RateKey, 'limit' | 'perMs'>,
  { ahead, now }: { readonly ahead: number; readonly now: Instant },
): Instant {
  const rounds = Math.floor(ahead / limit);
  const nth = limit - (ahead % limit);
  let count = 0;
  for (const [at, some] of starts.toReversed()) {
    count += some;
    if (count >= nth) return later(now, laterBy(at, perMs * (rounds + 1)));
  }
  return laterBy(now, perMs * rounds);
}

export interface GateView {
  readonly execution: ExecutionRecord;
  /** The slots of its concurrency key, if it has one. */
  readonly slots: ConcurrencySlots | undefined;
  /** The state of its rate key, if it has one and the key was used. */
  readonly rate: RateState | undefined;
}

export interface PassedGates {
  readonly execution: ExecutionRecord;
  readonly rate?: RateState;
}

export type GateDecision =
  /** Starts with the current claim. */
  | (PassedGates & { readonly kind: 'pass' })
  /** Has its slot, and a turn at a later `readyAt`, when it asks again. */
  | (PassedGates & { readonly kind: 'later' })
  | { readonly kind: 'over-limit'; readonly execution: ExecutionRecord };

/** For a ready execution with limits. */
export function decideGate({ execution, slots, rate }: GateView, now: Instant): GateDecision {
  if (!execution.hasSlot && slots !== undefined && !hasFreeSlot(slots)) {
    return { kind: 'over-limit', execution: withHold(execution, 'concurrency-limit') };
  }
  const through =
    execution.hasSlot && rate !== undefined ? { execution, rate } : passGates(execution, rate, now);
  const passed = {
    ...through.execution,
    gated: false,
    hasSlot: execution.concurrency !== undefined,
  };
  if (execution.rate === undefined || through.rate === undefined) {
    return { kind: 'pass', execution: passed };
  }
  if ((through.execution.readyAt ?? now) > now) return { kind: 'later', ...through };
  if (roomAt(through.rate, execution.rate, { ahead: 0, now }) <= now) {
    return { kind: 'pass', execution: passed, rate: withStarts(through.rate, now, 1) };
  }
  const { late } = through.rate;
  const readyAt = roomAt(through.rate, execution.rate, { ahead: late, now });
  return {
    kind: 'later',
    execution: { ...through.execution, readyAt },
    rate: { ...through.rate, late: late + 1 },
  };
}

/** Takes a slot and a turn. Also used when an execution inherits the slot of another. */
export function passGates(
  execution: ExecutionRecord,
  rate: RateState | undefined,
  now: Instant,
): PassedGates {
  const admitted = { ...withoutHolds(execution, 'concurrency-limit'), hasSlot: true };
  if (execution.rate === undefined) return { execution: { ...admitted, gated: false } };
  const turn = decideRate(rate, execution.rate, now);
  const readyAt = later(execution.readyAt ?? now, turn.at);
  // An execution that need not wait keeps the time since which it is ready.
  return {
    execution: turn.at <= now ? admitted : { ...admitted, readyAt },
    rate: {
      ...{ starts: rate?.starts ?? [], late: rate?.late ?? 0, ...turn.state },
      perMs: Math.max(rate?.perMs ?? 0, execution.rate.perMs),
    },
  };
}

function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b;
}
