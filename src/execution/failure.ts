// Failures in a form that can be stored, sent and shown.

/**
 * How a failure is handled.
 *
 * - `retryable`: try again.
 * - `permanent`: trying again cannot help.
 * - `denied`: the service refused the call, such as by a rate limit, or an open circuit held it back. It does not
 *   count as an attempt.
 * - `unknown`: the call may have had its effect. It is tried again.
 */
export type FailureCategory = 'retryable' | 'permanent' | 'denied' | 'unknown';

/** Why a step or an execution failed, as it is stored. */
export interface Failure {
  /** How the failure is handled. */
  readonly category: FailureCategory;
  /** The error's `code`, or its name. Stable, for programs. */
  readonly code: string;
  /** The error's message, at most 4,096 characters. */
  readonly message: string;
  /** The error's stack, at most 8,192 characters. */
  readonly stack?: string;
  /** File and line of your code that threw, such as `order.ts:16`. */
  readonly location?: string;
  /** The call that failed, if it was one. */
  readonly at?: string;
}

/** `message (order.ts:16)`. */
export function locatedMessage({ message = '', location }: Partial<Failure>): string {
  return location === undefined ? message : `${message} (${location})`;
}

// Decides when to try a failed step again. Pure: the caller passes the random number.

/** When a failed step is retried. Durations are in milliseconds. */
export interface RetryPolicy {
  /** Attempts in all, the first included. Default 5. */
  readonly attempts: number;
  /** The delay before the second attempt. Default 200. */
  readonly initialMs: number;
  /** Each delay is the one before, times this, up to `maxMs`. 1 to 100; default 2. */
  readonly factor: number;
  /** The longest delay. Default 60,000. */
  readonly maxMs: number;
  /** Each delay changes at random by at most this fraction of itself, 0 to 1. Default 0.2. */
  readonly jitter: number;
}

/** The retry policy of steps without one: 5 attempts, with delays from 200 ms up to 60 s. */
export const DEFAULT_RETRY: RetryPolicy = Object.freeze({
  attempts: 5,
  initialMs: 200,
  factor: 2,
  maxMs: 60_000,
  jitter: 0.2,
});

export interface Tries {
  /** Failed attempts so far, including this one. Denials are not attempts. */
  readonly failed: number;
  /** Denials so far, including this one. */
  readonly denied: number;
}

type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'give-up' };

/** `afterMs`: the delay that the failure asked for; never shortened. `dice` in [0, 1). */
export function decideRetry(
  policy: RetryPolicy,
  tries: Tries,
  failed: { readonly failure: Failure; readonly afterMs?: number; readonly dice: number },
): RetryDecision {
  const { failure, afterMs, dice } = failed;
  if (failure.category === 'permanent') return { kind: 'give-up' };
  const isDenied = failure.category === 'denied';
  if (!isDenied && tries.failed >= policy.attempts) return { kind: 'give-up' };
  const round = Math.max(1, isDenied ? tries.denied : tries.failed);
  const backoffMs = Math.min(policy.maxMs, policy.initialMs * policy.factor ** (round - 1));
  const jitteredMs = backoffMs * (1 - policy.jitter + 2 * policy.jitter * dice);
  return { kind: 'retry', delayMs: Math.round(Math.max(afterMs ?? 0, jitteredMs)) };
}
