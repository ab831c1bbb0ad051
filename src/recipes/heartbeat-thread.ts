// The thread of a watchdog session. It opens the store for itself and sends the heartbeats of that
// session and its descendants, while the main thread proves that it makes progress. A failed
// heartbeat never ends the thread. watchdog-session.ts starts this file; nothing imports it.

import { parentPort, workerData } from 'node:worker_threads';
import { momentOf } from '../lease/authority.ts';
import { parseOwner, parseSessionId } from '../lease/names.ts';
import { causeOf } from '../lease/observer.ts';
import type { LeaseService } from '../lease/port.ts';
import { BEATS_PER_TTL, RETRIES_PER_TTL } from '../lease/session.ts';
import { callStore, isStoreOutage } from '../lease/store-call.ts';
import { systemClock } from '../support/clock.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import { ThreadPulse } from './pulse.ts';
import { hardExit, Wedge } from './run-term.ts';
import type { ThreadMessage, ThreadOrder, ThreadOrders } from './watchdog-session.ts';

type Keep = Extract<ThreadOrder, { kind: 'keep' }>;

const JITTER = 0.1;
const CHECKS_PER_STALL = 4;

const { address, stallMs, memory } = workerData as ThreadOrders;
const proof = new ThreadPulse(memory);
const kept = new Map<string, AbortController>();

async function keep(store: LeaseService, order: Keep, dropped: AbortSignal): Promise<void> {
  const pulse = new ThreadPulse(order.memory);
  while (!dropped.aborted) {
    const parts = (await beatSafely(store, order, pulse)) ? BEATS_PER_TTL : RETRIES_PER_TTL;
    await systemTimers.pause(jittered(systemRandom, order.ttlMs / parts, JITTER), dropped);
  }
}

/**
 * The last resort of a watchdog session: its main thread can neither stop its work nor be asked to.
 */
async function endIfWedged(order: Keep, afterMs: number, dropped: AbortSignal): Promise<void> {
  const pulse = new ThreadPulse(order.memory);
  const wedge = new Wedge(afterMs);
  while (!dropped.aborted) {
    await systemTimers.pause(stallMs / CHECKS_PER_STALL, dropped);
    const now = momentOf(systemClock);
    const isProved = proof.isProved(now.monotonicMs, stallMs);
    if (wedge.check(isProved, pulse.overForMs(now)) && !dropped.aborted) hardExit();
  }
}

/** Returns false if it should be tried again soon: no reply, no proof of progress, or a fault. */
async function beatSafely(store: LeaseService, order: Keep, pulse: ThreadPulse): Promise<boolean> {
  try {
    return await beatIfProved(store, order, pulse);
  } catch (fault) {
    post({ kind: 'troubled', id: parseSessionId(order.id), cause: causeOf(fault) });
    return false;
  }
}

async function beatIfProved(
  store: LeaseService,
  order: Keep,
  pulse: ThreadPulse,
): Promise<boolean> {
  if (!proof.isProved(systemClock.monotonicMs(), stallMs)) return false;
  const sentAt = momentOf(systemClock);
  const id = parseSessionId(order.id);
  const owner = parseOwner(order.owner);
  const result = await callStore(
    () => store.sessions.heartbeat({ id, owner }),
    order.ttlMs / BEATS_PER_TTL,
    systemTimers,
  );
  if (isStoreOutage(result)) return false;
  if (result.kind === 'alive') {
    const rho = order.driftPpm / 1_000_000;
    const usableMs = (result.authorityMs * (1 - rho)) / (1 + rho) - order.guardMs;
    pulse.publish(sentAt, usableMs, result.notices);
  }
  post({ kind: 'answered', id, result, sentAt });
  return true;
}

function post(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}

const { module, open, options } = address;
const opened: unknown = await import(module);
const openStore = (opened as Record<string, (options: object) => Promise<LeaseService>>)[open];
if (openStore === undefined) throw new Error(`${module} has no ${open}`);
const store = await openStore(options);
parentPort?.on('message', (order: ThreadOrder) => {
  kept.get(order.id)?.abort();
  if (order.kind === 'drop') {
    kept.delete(order.id);
    return;
  }
  const dropped = new AbortController();
  kept.set(order.id, dropped);
  void keep(store, order, dropped.signal);
  if (order.exitAfterMs !== undefined) void endIfWedged(order, order.exitAfterMs, dropped.signal);
});
