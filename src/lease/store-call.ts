// One call to a store with a time limit. It turns faults into values: `unavailable` was not done,
// `unknown` may have been. A call that hangs returns `unknown` and continues in the background; it
// never blocks the next one.

import { OutcomeUnknown, StoreSealed, StoreUnavailable } from '../support/fault.ts';
import type { Timers } from '../support/timer.ts';

export type { StoreSealed };

/**
 * The store did not respond. `unknown`: it may have done the operation. `unavailable`: it has not.
 * `fault` is the error.
 */
export type StoreOutage =
  | { readonly kind: 'unknown'; readonly fault: OutcomeUnknown }
  | { readonly kind: 'unavailable'; readonly fault: StoreUnavailable };

export async function callStore<Result>(
  call: () => Promise<Result>,
  timeoutMs: number,
  timers: Timers,
): Promise<Result | StoreOutage> {
  let cancel = (): void => undefined;
  const timeout = new Promise<StoreOutage>((resolve) => {
    cancel = timers.after(timeoutMs, () => {
      const fault = new OutcomeUnknown(
        `The store did not respond within ${Math.round(timeoutMs)} ms. The change may or may not have been made.`,
      );
      resolve({ kind: 'unknown', fault });
    });
  });
  try {
    return await Promise.race([result(call), timeout]);
  } finally {
    cancel();
  }
}

async function result<Result>(call: () => Promise<Result>): Promise<Result | StoreOutage> {
  try {
    return await call();
  } catch (fault) {
    if (fault instanceof StoreUnavailable) return { kind: 'unavailable', fault };
    if (fault instanceof OutcomeUnknown) return { kind: 'unknown', fault };
    throw fault;
  }
}

/** The store was exported to another one, and its sessions and leases have ended. */
export function isSealed(fault: unknown): fault is StoreSealed {
  return fault instanceof StoreSealed;
}

/** The store is unavailable. This happens from time to time, and callers wait it out. */
export function isOutage(fault: unknown): fault is StoreUnavailable | OutcomeUnknown {
  return fault instanceof StoreUnavailable || fault instanceof OutcomeUnknown;
}

export function isStoreOutage(result: { readonly kind: string }): result is StoreOutage {
  return result.kind === 'unknown' || result.kind === 'unavailable';
}
