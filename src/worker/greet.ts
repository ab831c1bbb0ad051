// Greets a coordinator, and agrees on a version of the protocol. A worker may start before its
// coordinator: it then waits, and reports that.

import { reportTrouble, sendReport, warn } from '../engine/observer.ts';
import type { ExecutionObserver, ExecutionReport } from '../execution/report.ts';
import {
  OLDEST_WORK_VERSION,
  type Transport,
  WORK_VERSION,
} from '../protocol/messages/envelope.ts';
import { Fault, StoreUnavailable } from '../support/fault.ts';
import type { Timers } from '../support/timer.ts';
import type { Hello } from './remote-store.ts';

const AGAIN_MS_MIN = 100;
const AGAIN_MS_MAX = 5_000;

export async function greet(
  transport: Transport,
  options: {
    readonly timers: Timers;
    readonly observer: ExecutionObserver | undefined;
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
      return await firstWord(transport);
    } catch (fault) {
      // A refusal would be repeated, so do not retry.
      if (!(fault instanceof StoreUnavailable) || waitedMs >= connectMs) throw fault;
      if (waitedMs === 0) reportTrouble(observer, { code: NOT_YET, what: WAITING }, fault);
      againInMs = Math.min(againInMs, connectMs - waitedMs);
    }
    await timers.pause(againInMs);
  }
}

async function firstWord(transport: Transport): Promise<Hello> {
  const hello = await greeted(transport);
  const { version = OLDEST_WORK_VERSION } = hello;
  if (version >= OLDEST_WORK_VERSION && version <= WORK_VERSION) return hello;
  throw new Fault(
    'version-unknown',
    `The coordinator supports version ${version} of the worker protocol; this worker supports ${OLDEST_WORK_VERSION} to ${WORK_VERSION}. The worker did not start. Upgrade whichever is older.`,
  );
}

/** Builds from before protocol versions accept no version in the greeting, and use the oldest. */
async function greeted(transport: Transport): Promise<Hello> {
  try {
    return await transport.request<Hello>({ kind: 'greet', body: { version: WORK_VERSION } });
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.code !== 'invalid-input') throw fault;
    return transport.request<Hello>({ kind: 'greet' });
  }
}

const NOT_YET = 'worker-waiting';
const WAITING = 'The coordinator does not respond yet, so the worker waits for it';

/** Also reports urgent problems as Node warnings on stderr, whatever the observer does. */
export function warnOnStderr(observer: ExecutionObserver | undefined): ExecutionObserver {
  return {
    report(report) {
      if (observer === undefined || isUrgent(report)) warn(report);
      if (observer !== undefined) sendReport(observer, report);
    },
  };
}

function isUrgent(report: ExecutionReport): boolean {
  return report.kind === 'denied' || (report.kind === 'trouble' && report.code === NOT_YET);
}
