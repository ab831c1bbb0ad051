// The only place that sets timers. All waiting code takes a Timers, so tests and the simulator
// decide when time passes.

import { setTimeout as wait } from 'node:timers/promises';

export interface Timers {
  /**
   * Calls back once, after at least `ms`. Returns the function that cancels; cancelling twice is
   * harmless.
   */
  after(ms: number, callback: () => void): () => void;
  /** Resolves after at least `ms`, or at once when the signal aborts. Never rejects. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back after the current turn of the event loop. */
  soon(callback: () => void): void;
}

/** setTimeout fires at once for anything longer. A longer wait is cut, and never becomes 1 ms. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

export const systemTimers: Timers = {
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, TIMEOUT_MS_MAX));
    return () => clearTimeout(timer);
  },
  pause: (ms, signal) => pause(ms, true, signal),
  soon(callback) {
    setImmediate(callback);
  },
};

/** Like `systemTimers`, but the pause does not keep the process alive. */
export const backgroundTimers: Pick<Timers, 'pause'> = {
  pause: (ms, signal) => pause(ms, false, signal),
};

async function pause(ms: number, ref: boolean, signal: AbortSignal | undefined): Promise<void> {
  const options = { ref, ...(signal && { signal }) };
  await wait(Math.min(ms, TIMEOUT_MS_MAX), undefined, options).catch((reason: unknown) => {
    if (signal?.aborted !== true) throw reason;
  });
}

const NOW: Promise<void> = Promise.resolve();

/**
 * Calls back when the current code has finished, before anything else runs. Not `queueMicrotask`:
 * if any code uses AsyncLocalStorage, Node creates a resource for each callback, at three times the
 * cost.
 */
export function atEndOfTurn(callback: () => void): void {
  // An error is as fatal as there, because nothing catches it.
  void NOW.then(callback);
}

/** Resolves to false when the signal aborts, for races that should end with it. */
export function whenAborted(signal: AbortSignal): Promise<false> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(false), { once: true });
  });
}
