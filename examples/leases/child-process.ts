// The child process's side of `story.ts`: its order, its reports, and the request to stop.

import { once } from 'node:events';

process.once('disconnect', () => process.exit(0));

/** Returns the order that the process was started with. */
export async function ordered<Order>(): Promise<Order> {
  const [order] = await once(process, 'message');
  return order as Order;
}

/** Resolves when the report was sent, so that a kill cannot lose it. */
export function sendReport<Report extends { readonly kind: string }>(
  report: Report,
): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    process.send(report, undefined, undefined, () => resolve());
  });
}

export async function stopWasRequested(): Promise<void> {
  await once(process, 'message');
}

/** Waits for a time, or until the signal aborts. */
export function briefly(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
