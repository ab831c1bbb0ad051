// Failures in a form that can be stored, sent and shown.

/**
 * `retryable`: try again. `permanent`: trying again cannot help. `denied`: not let in (no capacity, circuit
 * open); nothing was tried. `unknown`: it may have had its effect.
 */
export type FailureCategory = 'retryable' | 'permanent' | 'denied' | 'unknown';

export interface Failure {
  readonly category: FailureCategory;
  /** Stable, for programs: the name of the error, or the `code` it carries. */
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
  /** File and line of the user's code that threw, such as `order.ts:16`. */
  readonly location?: string;
  /** Which call failed, when it was one. */
  readonly at?: string;
}

/** `message (order.ts:16)`. */
export function locatedMessage({ message = '', location }: Partial<Failure>): string {
  return location === undefined ? message : `${message} (${location})`;
}

// Decides when to try a failed step again. Pure: the caller rolls the dice.

export interface RetryPolicy {
  /** Tries in all, the first included. */
  readonly attempts: number;
  /** Before the second try; doubled (by `factor`) for every further one, up to `maxMs`. */
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** Each delay is moved by at most this share of itself, so that those who failed together part. */
  readonly jitter: number;
}

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
