// What the handlers of a coordinator work with, made from its options.

import { Holdfast } from '../engine/holdfast.ts';
import { Hints } from '../protocol/rest/hints.ts';
import type { Coordinator } from '../protocol/rest/route.ts';
import { systemClock } from '../support/clock.ts';
import { systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import { openMetrics, type ServerMetrics } from './metrics.ts';
import { DEFAULT_HTTP_LIMITS, type ServerOptions } from './server-options.ts';

export interface OpenedCoordinator {
  readonly coordinator: Coordinator;
  readonly metrics: ServerMetrics | undefined;
}

export async function coordinatorOf(options: ServerOptions): Promise<OpenedCoordinator> {
  const { store, links, demo, auth = 'keys' } = options;
  const { clock = systemClock, timers = systemTimers, random = systemRandom } = options;
  const { relayAnswersMs } = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const holdfast = new Holdfast({
    store,
    relayAnswersMs,
    ...(links === undefined ? {} : { links }),
  });
  const metrics = await openMetrics();
  const coordinator: Coordinator = {
    ...{ holdfast, store, clock, timers, auth },
    hints: new Hints(store.executions, random.uuid()),
    hasLinks: links !== undefined,
    ...(demo && { demo }),
    ...(metrics && { metrics: metrics.read }),
  };
  return { coordinator, metrics };
}
