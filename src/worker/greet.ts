// The first word to a coordinator. In a fleet nobody starts first: one that is not there yet is waited for, and
// that is said.

import { type ExecutionObserver, tellTrouble } from '../engine/observer.ts';
import { StoreUnavailable } from '../support/fault.ts';
import type { Timers } from '../support/timer.ts';
import type { Link } from './link.ts';
import type { Hello } from './remote-store.ts';

const AGAIN_MS_MIN = 100;
const AGAIN_MS_MAX = 5_000;

export async function greet(
  link: Link,
  options: {
    readonly timers: Timers;
    readonly observer: ExecutionObserver;
    readonly connectMs: number | undefined;
  },
): Promise<Hello> {
  const { timers, observer, connectMs = Number.POSITIVE_INFINITY } = options;
  let againInMs = AGAIN_MS_MIN;
  for (
    let waitedMs = 0;
    ;
    waitedMs += againInMs, againInMs = Math.min(AGAIN_MS_MAX, 2 * againInMs)
  ) {
    try {
      return await link.json<Hello>({ method: 'GET', path: '/v1/work', isRead: true });
    } catch (fault) {
      // What was refused will be refused again.
      if (!(fault instanceof StoreUnavailable) || waitedMs >= connectMs) throw fault;
      if (waitedMs === 0) tellTrouble(observer, NOT_YET, fault);
      againInMs = Math.min(againInMs, connectMs - waitedMs);
    }
    await timers.pause(againInMs);
  }
}

/** Also what is said on stderr begins with it. */
export const NOT_YET = 'The coordinator does not answer yet; the worker waits for it';
