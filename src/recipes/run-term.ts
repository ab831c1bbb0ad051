// One term of work under a lease. It runs the work, signals when to stop, waits until the work has
// stopped, and only then returns, so that the caller can release the lease (L-7). The overrun is
// the time for which work continued after its authority ended. It is measured and reported, and can
// end the process.

import { elapsedMs, momentOf } from '../lease/authority.ts';
import type { DeclaredExit } from '../lease/exit.ts';
import type { HeldLease } from '../lease/held-lease.ts';
import { LeaseNotHeld } from '../lease/not-held.ts';
import { callSafely, causeOf } from '../lease/observer.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import {
  integerOption,
  optionalBooleans,
  optionalFunctions,
  requireFunction,
} from '../support/options.ts';
import { systemTimers, type Timers, whenAborted } from '../support/timer.ts';

/** The lease and the signal that work gets. */
export interface Term {
  /** The lease. */
  readonly lease: HeldLease;
  /**
   * Aborts when the work should stop: authority ended, a drain was requested, or the recipe stops.
   */
  readonly signal: AbortSignal;
}

/** Options of work under a lease. */
export interface TermOptions {
  /** Milliseconds that work has to stop after its signal aborts, up to a day. Default 5,000. */
  readonly settleMs?: number;
  /**
   * True: kill the process if work that lost its authority does not stop within `settleMs`. Default
   * false.
   */
  readonly exitOnOverrun?: boolean;
  /**
   * Called when work continued after its authority ended: once with `settled` false if it does not
   * stop within `settleMs`, and when it has stopped.
   */
  readonly onOverrun?: (overrun: Overrun) => void;
  /** The clock. Default: the system's. Replace it in tests. */
  readonly clock?: Clock;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
}

export const TERM_OPTION_NAMES = ['settleMs', 'exitOnOverrun', 'onOverrun'] as const;
const SETTLE_MS_MAX = 86_400_000;

/** `what` is the recipe that the user called. */
export function checkTerm(what: string, options: TermOptions, work: unknown): void {
  const { settleMs, exitOnOverrun, onOverrun } = options;
  requireFunction(`${what}: the work`, work);
  integerOption('settleMs', settleMs ?? SETTLE_MS_DEFAULT, { min: 0, max: SETTLE_MS_MAX });
  optionalBooleans(what, { exitOnOverrun });
  optionalFunctions(what, { onOverrun });
}

/** Work that continued after its authority ended. */
export interface Overrun {
  /** The key of the lease. */
  readonly key: string;
  /** For how many milliseconds. */
  readonly ms: number;
  /** False if it still runs. You are called again when it stops. */
  readonly settled: boolean;
}

type TermOutcome<Value> =
  | { readonly kind: 'returned'; readonly value: Value }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** The work did not stop within `settleMs` after the signal. `over` resolves when it does. */
  | { readonly kind: 'still-running'; readonly over: Promise<void> };

const SETTLE_MS_DEFAULT = 5_000;

/** Additions of the recipe to the user's options. */
interface TermSeam {
  /** Further leases that the work needs. */
  readonly others?: readonly HeldLease[];
  /** Signals the work to stop. */
  readonly stop?: AbortSignal;
  /** Receives errors of the user's callbacks. */
  readonly trouble: (error: unknown) => void;
}

/**
 * Runs the work to its end, or until the time limit. It does not release the lease. It never
 * throws, because its caller must release the lease.
 */
export async function runTerm<Value>(
  lease: HeldLease,
  work: (term: Term) => Promise<Value>,
  options: TermOptions & TermSeam,
): Promise<TermOutcome<Value>> {
  const { timers = systemTimers, settleMs = SETTLE_MS_DEFAULT, others = [] } = options;
  const leases = [lease, ...others];
  const drained = new AbortController();
  const undrains = leases.map((each) => each.onDrain((drain) => drained.abort(drain)));
  const early = leases.find(({ drain }) => drain !== undefined);
  if (early !== undefined) drained.abort(early.drain);
  const ends = [drained.signal, ...(options.stop ? [options.stop] : [])];
  const signal = AbortSignal.any([...leases.map((each) => each.signal), ...ends]);
  const overrun = measureOverrun(leases, options);

  const working = settled(() => work({ lease, signal }));
  // Cancel the timer when the work is over: it would keep the process alive.
  const decided = new AbortController();
  const aborted = whenAborted(AbortSignal.any([signal, decided.signal]));
  const settleWait = aborted.then(() => timers.pause(settleMs, decided.signal));
  const over = working.then(() => undefined);
  const giveUp = settleWait.then(() => ({ kind: 'still-running', over }) as const);
  const outcome = await Promise.race([working, giveUp]);
  decided.abort();
  for (const undrain of undrains) undrain();
  overrun(outcome.kind !== 'still-running');
  if (outcome.kind === 'still-running') void over.then(() => overrun(true));
  const mustExit = options.exitOnOverrun === true && outcome.kind === 'still-running';
  if (mustExit && leases.some(lostAuthority)) hardExit();
  return outcome;
}

async function settled<Value>(run: () => Promise<Value>): Promise<TermOutcome<Value>> {
  try {
    return { kind: 'returned', value: await run() };
  } catch (error) {
    return { kind: 'threw', error };
  }
}

/**
 * Starts counting when authority ends. Call the returned function when the work, or the wait for
 * it, is over, and in the second case again when the work is.
 */
function measureOverrun(
  leases: readonly HeldLease[],
  options: TermOptions & TermSeam,
): (settled: boolean) => void {
  const { clock = systemClock, onOverrun, trouble } = options;
  let endedAt: ReturnType<typeof momentOf> | undefined;
  const note = (): void => {
    endedAt ??= momentOf(clock);
  };
  for (const { signal } of leases) signal.addEventListener('abort', note, { once: true });
  return (settled) => {
    const lost = leases.find(lostAuthority);
    if (settled) for (const { signal } of leases) signal.removeEventListener('abort', note);
    if (endedAt === undefined || lost === undefined) return;
    const ms = elapsedMs(endedAt, momentOf(clock));
    lost.reportOverrun(ms, settled);
    callSafely(() => onOverrun?.({ key: lost.key, ms, settled }), trouble);
  };
}

export function lostAuthority(lease: HeldLease): boolean {
  // The first caller that checks finds out. Work that blocked the event loop is over before any
  // timer fires (C-5).
  lease.remainingMs();
  const { aborted, reason } = lease.signal;
  return aborted && reason instanceof LeaseNotHeld && reason.by !== 'released';
}

/** The exit of a term that ended by itself, for the successor. */
export function exitOf(
  lease: HeldLease,
  outcome: TermOutcome<unknown>,
  stopped: boolean,
): { readonly exit: DeclaredExit; readonly cause?: string } {
  // It had to stop wherever it was: neither finished nor at a safe point.
  if (lostAuthority(lease)) return { exit: 'abandoned', cause: 'authority ended before the work' };
  if (outcome.kind === 'threw') return { exit: 'failed', cause: causeOf(outcome.error) };
  return { exit: stopped ? 'yielded' : 'finished' };
}

// Decides if a main thread is stuck for good: it showed no progress in several checks in a row, and
// authority has been over for as long as the grace. One check is not enough. After the whole
// process was frozen, its threads wake together, and the main thread must get a chance to turn.

const CHECKS_MIN = 3;

export class Wedge {
  readonly #afterMs: number;
  #checks = 0;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** `overForMs` is the time since authority ended; undefined if there never was any. */
  check(isProved: boolean, overForMs: number | undefined): boolean {
    this.#checks = isProved ? 0 : this.#checks + 1;
    return this.#checks >= CHECKS_MIN && overForMs !== undefined && overForMs >= this.#afterMs;
  }
}

// The last resort: a process that cannot stop its work in time kills itself at once, and the work
// with it. On purpose, it flushes nothing and runs no handler.

export function hardExit(): never {
  process.kill(process.pid, 'SIGKILL');
  // Known platforms deliver the signal before this returns. If not, do not continue.
  for (;;);
}
