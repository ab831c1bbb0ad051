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

export interface WithLeaseOptions<Value> extends AcquireOptions, TermOptions {
  readonly session: Session;
  readonly key: string;
  /** How the term is told to the successor. Default: finished, or yielded when it was asked to stop. */
  readonly exit?: DeclaredExit | ((value: Value) => DeclaredExit);
}

export type WithLeaseOutcome<Value> =
  | { readonly kind: 'done'; readonly value: Value; readonly fence: Fence }
  /** Authority ended while it ran. `running` resolves when work that did not stop in time does. */
  | {
      readonly kind: 'lost';
      readonly reason: LeaseNotHeld;
      readonly running?: Promise<void>;
      readonly error?: unknown;
    }
  /** A drain was requested and the work did not stop in time; the session still carries the lease. */
  | { readonly kind: 'still-running'; readonly fence: Fence; readonly running: Promise<void> }
  | Exclude<AcquireOutcome, { readonly kind: 'acquired' }>;

/** Acquires, works, releases. Throws what the work throws, after the lease was released as failed. */
export async function withLease<Value>(
  options: WithLeaseOptions<Value>,
  work: (term: Term) => Promise<Value>,
): Promise<WithLeaseOutcome<Value>> {
  rejectUnknownOptions('withLease', options, NAMES);
  const { session, key, exit, settleMs, exitOnOverrun, onOverrun, clock, timers, ...acquire } =
    options;
  requireSession(session);
  checkTerm('withLease', options, work);
  if (typeof exit !== 'function' && exit !== undefined) checkExit(exit);
  const got = await session.acquire(key, acquire);
  if (got.kind !== 'acquired') return got;
  const { lease } = got;
  const drainedBefore = lease.drain !== undefined;
  const trouble = (error: unknown): void => session.reportTrouble(`onOverrun: ${causeOf(error)}`);
  const outcome = await runTerm(lease, work, { ...options, trouble });
  if (lostAuthority(lease)) {
    // After a lapse, the session still carries the lease. Release it, so that others can get it.
    if (outcome.kind !== 'still-running') await lease.release('abandoned', { cause: 'lapsed' });
    return {
      kind: 'lost',
      reason: lease.signal.reason,
      ...(outcome.kind === 'still-running' ? { running: outcome.over } : {}),
      ...(outcome.kind === 'threw' ? { error: outcome.error } : {}),
    };
  }
  if (outcome.kind === 'still-running') {
    return { kind: 'still-running', fence: lease.fence, running: outcome.over };
  }
  if (outcome.kind === 'threw') return fail(lease, outcome.error);
  const drained = lease.drain !== undefined && !drainedBefore;
  let chosen: DeclaredExit;
  try {
    chosen = checkExit(chooseExit(exit, outcome.value, drained));
  } catch (error) {
    return fail(lease, error);
  }
  await lease.release(chosen);
  return { kind: 'done', value: outcome.value, fence: lease.fence };
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

function requireSession(session: Partial<Session> | undefined): void {
  if (typeof session?.acquire === 'function') return;
  throw new InvalidInput(
    'withLease: session is missing. Open one first, such as await openSession({ store, owner }), and pass it.',
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

/** Throws the work's error even if the release fails: it repeats until the session ends. */
async function fail(lease: HeldLease, error: unknown): Promise<never> {
  await lease.release('failed', { cause: causeOf(error) }).catch(() => undefined);
  throw error;
}
