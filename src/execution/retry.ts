// When a failed step is tried again. Pure: the dice are handed in.

import type { Failure } from './failure.ts';

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
  /** Failed attempts so far, this one included. Denials are not attempts. */
  readonly failed: number;
  /** Times it was not let in, this one included. */
  readonly denied: number;
}

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'give-up' };

/** `afterMs`: what the failure itself asked for; it is kept to, never shortened. `dice` in [0, 1). */
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
