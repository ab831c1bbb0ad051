import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 10;
const GIVE_UP_AFTER_MS = 60_000;

/**
 * Polls until the condition holds. For facts without an event, such as the effect of time on a
 * lease.
 */
export async function until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > GIVE_UP_AFTER_MS) {
      throw new Error(`${GIVE_UP_AFTER_MS} ms were not enough until ${what}`);
    }
    await pause(LOOK_EVERY_MS);
  }
}
