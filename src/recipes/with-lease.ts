// withLease: exclusive work with checkpoints. With the lease, the work gets the predecessor's exit,
// its last checkpoint and its unsettled intents. The state that it leaves is the start of the next
// term.

import {
  ACQUIRE_OPTION_NAMES,
  type AcquireOptions,
  type AcquireOutcome,
} from '../lease/acquire-lease.ts';
import { DECLARED_EXITS, type DeclaredExit } from '../lease/exit.ts';
import type { Fence } from '../lease/fence.ts';
import type { HeldLease } from '../lease/held-lease.ts';
import type { Session } from '../lease/live-session.ts';
import type { LeaseNotHeld } from '../lease/not-held.ts';
import { causeOf } from '../lease/observer.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import {
  checkTerm,
  lostAuthority,
  runTerm,
  TERM_OPTION_NAMES,
  type Term,
  type TermOptions,
} from './run-term.ts';

/** Options of `withLease`. */
export interface WithLeaseOptions<Value> extends AcquireOptions, TermOptions {
  /** An open session. */
  readonly session: Session;
  /** The key. */
  readonly key: string;
  /**
   * The exit of the term, or a function that chooses it from the result. Default `finished`, or
   * `yielded` if a drain was requested.
   */
  readonly exit?: DeclaredExit | ((value: Value) => DeclaredExit);
}

/**
 * The result of `withLease`. Other kinds are those of `AcquireOutcome`.
 *
 * - `done`: the work returned `value` under `fence`, and the lease was released.
 * - `lost`: authority ended while the work ran, for the `reason` given. `error` is what the work
 *   threw. `running` resolves
 * when work that did not stop in time does.
 * - `still-running`: a drain was requested and the work did not stop in time; the session still
 *   holds the lease.
 */
export type WithLeaseOutcome<Value> =
  | RunOutcomeOf<Value>
  | Exclude<AcquireOutcome, { readonly kind: 'acquired' }>;

type RunOutcomeOf<Value> =
  | { readonly kind: 'done'; readonly value: Value; readonly fence: Fence }
  | {
      readonly kind: 'lost';
      readonly reason: LeaseNotHeld;
      readonly running?: Promise<void>;
      readonly error?: unknown;
    }
  | { readonly kind: 'still-running'; readonly fence: Fence; readonly running: Promise<void> };

/**
 * Acquires a lease, runs `work` and releases the lease.
 *
 * Throws the error that the work throws, after the lease was released as `failed`, and
 * `InvalidInput` for invalid options. Refusals and outages are return values.
 *
 * @example
 * import { openSession } from 'holdfast';
 *
 * await using session = await openSession({ store, owner: 'billing@host-3' });
 * const outcome = await withLease({ session, key: 'reports/daily', wait: true }, async ({ lease, signal }) => {
 *   for (let page = 0; !signal.aborted && page < 10; page += 1) {
 *     lease.assertHeld(1_000);
 *     await lease.checkpoint(JSON.stringify({ page }));
 *   }
 * });
 * if (outcome.kind !== 'done') console.error(outcome.kind);
 */
export async function withLease<Value>(
  options: WithLeaseOptions<Value>,
  work: (term: Term) => Promise<Value>,
): Promise<WithLeaseOutcome<Value>> {
  rejectUnknownOptions('withLease', options, NAMES);
  const { session, key, exit, settleMs, exitOnOverrun, onOverrun, clock, timers, ...acquire } =
    options;
  requireSession('withLease', session);
  checkTerm('withLease', options, work);
  if (typeof exit !== 'function' && exit !== undefined) checkExit(exit);
  const got = await session.acquire(key, acquire);
  if (got.kind !== 'acquired') return got;
  const { lease } = got;
  return runHeld({ session, leases: [lease] }, (signal) => work({ lease, signal }), options);
}

interface Held {
  readonly session: Session;
  readonly leases: readonly [HeldLease, ...HeldLease[]];
}

/** Runs the work under leases of one session, and releases them when it has stopped. */
export async function runHeld<Value>(
  { session, leases }: Held,
  run: (signal: AbortSignal) => Promise<Value>,
  options: TermOptions & Pick<WithLeaseOptions<Value>, 'exit'>,
): Promise<RunOutcomeOf<Value>> {
  const [first, ...others] = leases;
  const isDrained = (): boolean => leases.some(({ drain }) => drain !== undefined);
  const wasDrained = isDrained();
  const trouble = (error: unknown): void => session.reportTrouble(`onOverrun: ${causeOf(error)}`);
  const seam = { ...options, others, trouble };
  const outcome = await runTerm(first, ({ signal }) => run(signal), seam);
  const release = async (exit: DeclaredExit, cause?: string): Promise<void> => {
    const about = cause === undefined ? {} : { cause };
    await Promise.all(leases.map((lease) => lease.release(exit, about)));
  };
  const lost = leases.find(lostAuthority);
  if (lost !== undefined) {
    const reason: LeaseNotHeld = lost.signal.reason;
    // After a lapse, the session still carries the lease. Release it, so that others can get it.
    const free = (): Promise<void> => release('abandoned', 'lapsed');
    if (outcome.kind !== 'still-running') await free();
    else void outcome.over.then(free).catch((fault) => session.reportTrouble(causeOf(fault)));
    return {
      ...{ kind: 'lost', reason },
      ...(outcome.kind === 'still-running' ? { running: outcome.over } : {}),
      ...(outcome.kind === 'threw' ? { error: outcome.error } : {}),
    };
  }
  const fence = leases.reduce(
    (most, lease) => (lease.fence > most ? lease.fence : most),
    first.fence,
  );
  if (outcome.kind === 'still-running') {
    return { kind: 'still-running', fence, running: outcome.over };
  }
  // The work's error counts even if the release fails: that repeats until the session ends.
  const fail = async (error: unknown): Promise<never> => {
    await release('failed', causeOf(error)).catch(() => undefined);
    throw error;
  };
  if (outcome.kind === 'threw') return fail(outcome.error);
  let chosen: DeclaredExit;
  try {
    chosen = checkExit(chooseExit(options.exit, outcome.value, isDrained() && !wasDrained));
  } catch (error) {
    return fail(error);
  }
  await release(chosen);
  return { kind: 'done', value: outcome.value, fence };
}

const NAMES: readonly (keyof WithLeaseOptions<unknown>)[] = [
  'session',
  'key',
  'exit',
  'clock',
  'timers',
  ...TERM_OPTION_NAMES,
  ...ACQUIRE_OPTION_NAMES,
];

export function requireSession(what: string, session: Partial<Session> | undefined): void {
  if (typeof session?.acquire === 'function') return;
  throw new InvalidInput(
    `${what}: session is required. Pass an open one, such as await openSession({ store, owner }).`,
  );
}

function chooseExit<Value>(
  exit: WithLeaseOptions<Value>['exit'],
  value: Value,
  drained: boolean,
): DeclaredExit {
  if (typeof exit === 'function') return exit(value);
  return exit ?? (drained ? 'yielded' : 'finished');
}

function checkExit(exit: DeclaredExit): DeclaredExit {
  if (DECLARED_EXITS.includes(exit)) return exit;
  throw new InvalidInput(`exit must be one of ${DECLARED_EXITS.join(', ')}; got ${causeOf(exit)}.`);
}
