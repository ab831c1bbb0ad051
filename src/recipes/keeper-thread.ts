// The thread of a proved session: opens the store for itself and sends the heartbeats, as long as the
// main thread proves that it makes progress. Started by proved-session.ts, never imported.

import { parentPort, workerData } from 'node:worker_threads';
import { momentOf } from '../lease/authority.ts';
import { parseOwner, parseSessionId } from '../lease/names.ts';
import type { HeartbeatAnswer, KernelStore } from '../lease/port.ts';
import { callStore, isUnanswered } from '../lease/store-call.ts';
import { systemClock } from '../support/clock.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import type { ThreadNews, ThreadOrders } from './proved-session.ts';
import { Pulse } from './pulse.ts';

const BEATS_PER_TTL = 3;
const RETRIES_PER_TTL = 20;
const JITTER = 0.1;

const orders = workerData as ThreadOrders;
const pulse = new Pulse(orders.memory);

async function keep(store: KernelStore): Promise<void> {
  for (;;) {
    const pause = orders.ttlMs / ((await beatIfProved(store)) ? BEATS_PER_TTL : RETRIES_PER_TTL);
    await systemTimers.pause(jittered(systemRandom, pause, JITTER));
  }
}

/** False when it should be tried again soon: no answer, or no proof of progress. */
async function beatIfProved(store: KernelStore): Promise<boolean> {
  if (!pulse.isProved(systemClock.monotonicMs(), orders.stallMs)) return false;
  const sentAt = momentOf(systemClock);
  const id = parseSessionId(orders.id);
  const owner = parseOwner(orders.owner);
  const answer = await callStore(
    () => store.sessions.heartbeat({ id, owner }),
    orders.ttlMs / BEATS_PER_TTL,
    systemTimers,
  );
  if (isUnanswered(answer)) return false;
  if (answer.kind === 'alive') {
    const rho = orders.driftPpm / 1_000_000;
    const usableMs = (answer.authorityMs * (1 - rho)) / (1 + rho) - orders.guardMs;
    pulse.publish(sentAt, usableMs, answer.notices);
  }
  tell({ answer, sentAt });
  return true;
}

function tell(news: ThreadNews & { readonly answer: HeartbeatAnswer }): void {
  parentPort?.postMessage(news);
}

const { module, open, options } = orders.address;
const opened: unknown = await import(module);
const openStore = (opened as Record<string, (options: object) => Promise<KernelStore>>)[open];
if (openStore === undefined) throw new Error(`${module} has no ${open}`);
await keep(await openStore(options));
