// A worker that is not let in any more: its key has ended or expired, or has not the role. An ended key never
// opens again; but coordinators may know of it one after the other, and one may have been set up wrongly for a
// moment. So it is told at once, and given up when it lasted longer than the work could be held anyway.

import type { ExecutionObserver } from '../../execution/report.ts';
import type { Clock } from '../../support/clock.ts';
import { AccessDenied, StoreSealed } from '../../support/fault.ts';
import { tell } from '../observer.ts';

/** How a worker ended. */
export type WorkerEnd =
  | { readonly kind: 'stopped' }
  /** By `crash`. */
  | { readonly kind: 'crashed' }
  /** The coordinator did not let it in for longer than its ttl. */
  | { readonly kind: 'denied'; readonly code: string; readonly why: string };

const TTL_MS_DEFAULT = 15_000;
export const TROUBLE_PAUSE_MS = 500;
/** Nobody but a person unseals a store. */
const SEALED_PAUSE_MS = 30_000;

export class Denial {
  readonly #clock: Clock;
  readonly #observer: ExecutionObserver | undefined;
  readonly #ttlMs: number;
  #sinceMs: number | undefined;

  constructor(
    {
      clock,
      observer,
    }: { readonly clock: Clock; readonly observer: ExecutionObserver | undefined },
    ttlMs: number | undefined,
  ) {
    this.#clock = clock;
    this.#observer = observer;
    this.#ttlMs = ttlMs ?? TTL_MS_DEFAULT;
  }

  /** It was let in. */
  over(): void {
    this.#sinceMs = undefined;
  }

  /** How the worker ends, once it has lasted; undefined for any other fault, and before that. */
  met(fault: unknown): WorkerEnd | undefined {
    if (!isDenied(fault)) return undefined;
    const { code, message: why } = fault;
    const now = this.#clock.monotonicMs();
    if (this.#sinceMs === undefined) {
      this.#sinceMs = now;
      tell(this.#observer, { kind: 'denied', code, why });
    }
    return now - this.#sinceMs > this.#ttlMs ? { kind: 'denied', code, why } : undefined;
  }
}

/** How long a worker waits that could not claim, before it tries again. */
export function pauseAfter(fault: unknown): number {
  return isA(StoreSealed, fault) ? SEALED_PAUSE_MS : TROUBLE_PAUSE_MS;
}

function isDenied(fault: unknown): fault is AccessDenied {
  return isA(AccessDenied, fault);
}

/** Total: whatever a store throws. */
function isA(kind: typeof AccessDenied | typeof StoreSealed, fault: unknown): boolean {
  try {
    return fault instanceof kind;
  } catch {
    return false;
  }
}
