// The only place that sets timers. Everything that waits takes a Timers, so that tests and the
// simulator decide when time passes.

import { setTimeout as wait } from 'node:timers/promises';

export interface Timers {
  /** Calls back once, after at least `ms`. The answer cancels it; cancelling twice is harmless. */
  after(ms: number, callback: () => void): () => void;
  /** Resolves after at least `ms`, or at once when the signal aborts. Never rejects. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back after the current turn of the event loop. */
  soon(callback: () => void): void;
}

/** setTimeout fires at once for anything longer; a wait that long is cut, never turned into 1 ms. */
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

/** As `systemTimers`, but a process with nothing else to do ends during the pause. */
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
 * Calls back when the code that runs now has finished, before anything else does. Not by `queueMicrotask`: where
 * anybody uses AsyncLocalStorage, Node makes a resource for each of those, at three times the cost.
 */
export function atEndOfTurn(callback: () => void): void {
  // What it throws is as fatal as there: nobody catches it.
  void NOW.then(callback);
}

/** Resolves to false when the signal aborts: for racing work that nobody should wait for any more. */
export function whenAborted(signal: AbortSignal): Promise<false> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(false), { once: true });
  });
}
