/** Resolves to false when the signal aborts: for racing work that nobody should wait for any more. */
export function whenAborted(signal: AbortSignal): Promise<false> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(false), { once: true });
  });
}
