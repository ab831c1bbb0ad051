// Long polls: held for a while, and let go early when whoever asked is gone.

import type { Timers } from '../../support/timer.ts';

/** Undefined when the time is over or the caller has gone. */
export async function withinMs<Found>(
  timers: Timers,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
  wait: (until: AbortSignal) => Promise<Found>,
): Promise<Found | undefined> {
  const over = new AbortController();
  const stop = (): void => over.abort();
  if (signal.aborted) return undefined;
  signal.addEventListener('abort', stop, { once: true });
  const cancel = timers.after(ms, stop);
  try {
    return await wait(over.signal);
  } catch (error) {
    if (over.signal.aborted) return undefined;
    throw error;
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}
