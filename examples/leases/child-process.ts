// A process's side of `story.ts`: what it is ordered, what it tells, when it is asked to stop.

import { once } from 'node:events';

process.once('disconnect', () => process.exit(0));

/** What the process was started with. */
export async function ordered<Order>(): Promise<Order> {
  const [order] = await once(process, 'message');
  return order as Order;
}

/** Resolves when the narrator has it, so that nothing is told after a kill that came before it. */
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

/** For work that goes on until it is told: waits a while, or less when the signal aborts. */
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
