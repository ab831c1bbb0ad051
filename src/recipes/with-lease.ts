// withLease: exclusive work with checkpointed handoff. The work gets the predecessor's exit, its last
// checkpoint and its unsettled intents with the lease; what it leaves is the next one's start.

import type { AcquireOptions, AcquireOutcome } from '../lease/acquire-lease.ts';
import type { DeclaredExit } from '../lease/exit.ts';
import type { Fence } from '../lease/fence.ts';
import type { Session } from '../lease/live-session.ts';
import type { LeaseNotHeld } from '../lease/not-held.ts';
import { causeOf, lostAuthority, runTerm, type Term, type TermOptions } from './run-term.ts';

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
  const { session, key, exit, settleMs, exitOnOverrun, onOverrun, clock, timers, ...acquire } =
    options;
  const got = await session.acquire(key, acquire);
  if (got.kind !== 'acquired') return got;
  const { lease } = got;
  const drainedBefore = lease.drain !== undefined;
  const outcome = await runTerm(lease, work, options);
  if (lostAuthority(lease)) {
    // After a lapse the session still carries the lease: it must be given up for others to get it.
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
  if (outcome.kind === 'threw') {
    await lease.release('failed', { cause: causeOf(outcome.error) });
    throw outcome.error;
  }
  const drained = lease.drain !== undefined && !drainedBefore;
  await lease.release(chooseExit(exit, outcome.value, drained));
  return { kind: 'done', value: outcome.value, fence: lease.fence };
}

function chooseExit<Value>(
  exit: WithLeaseOptions<Value>['exit'],
  value: Value,
  drained: boolean,
): DeclaredExit {
  if (typeof exit === 'function') return exit(value);
  return exit ?? (drained ? 'yielded' : 'finished');
}
