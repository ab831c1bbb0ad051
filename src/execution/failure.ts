// Why something did not work, in a form that can be stored, sent and shown.

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
