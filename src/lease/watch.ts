// Watches a store: its events in order, from any point, without missing one (O-1). It polls; hints
// only make it poll sooner.

import type { OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import { integerOption, optionalFunctions, rejectUnknownOptions } from '../support/options.ts';
import { jittered, type Random, systemRandom } from '../support/random.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import type { EventSeq, LeaseEvent } from './event.ts';
import { callSafely } from './observer.ts';
import type { EventPage, KernelStore } from './port.ts';
import { requireStore } from './session-options.ts';
import { isOutage } from './store-call.ts';

export interface WatchOptions {
  /** Where to go on: the `seq` of the last event seen. Default 0, the oldest kept. */
  readonly after?: EventSeq;
  readonly signal?: AbortSignal;
  /** How often to look. Default 1000. */
  readonly pollMs?: number;
  /** Told of each look that failed because the store could not be reached. It looks again. */
  readonly onOutage?: (fault: StoreUnavailable | OutcomeUnknown) => void;
  readonly timers?: Timers;
  readonly random?: Random;
}

/** `truncated`: events between the reader's place and `seq` are no longer kept; read the state anew. */
export type Watched = LeaseEvent | { readonly kind: 'truncated'; readonly seq: EventSeq };

const PAGE = 500;

const NAMES: readonly (keyof WatchOptions)[] = [
  'after',
  'signal',
  'pollMs',
  'onOutage',
  'timers',
  'random',
];

/** Ends when `signal` aborts, or with what is not an outage: those it waits out. */
export function watchLeases(
  store: KernelStore,
  options: WatchOptions = {},
): AsyncGenerator<Watched, void, void> {
  requireStore('watchLeases', store);
  rejectUnknownOptions('watchLeases', options, NAMES);
  optionalFunctions('watchLeases', { onOutage: options.onOutage });
  const pollMs = integerOption('pollMs', options.pollMs ?? 1_000, { min: 10, max: 3_600_000 });
  const after = integerOption('after', options.after ?? 0, {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  });
  return watch(store, { ...options, pollMs, after });
}

async function* watch(
  store: KernelStore,
  options: WatchOptions & { readonly pollMs: number; readonly after: EventSeq },
): AsyncGenerator<Watched, void, void> {
  const { timers = systemTimers, random = systemRandom, signal, pollMs } = options;
  let { after } = options;
  while (signal?.aborted !== true) {
    const page = await readPage(store, after, options);
    if (page === undefined) {
      await timers.pause(jittered(random, pollMs, 0.1), signal);
      continue;
    }
    if (page.kind === 'truncated') {
      after = page.oldest;
      yield { kind: 'truncated', seq: after };
      continue;
    }
    after = page.next;
    yield* page.events;
    if (page.events.length < PAGE)
      await untilNextRead(store, { timers, signal, pollMs: jittered(random, pollMs, 0.1) });
  }
}

/**
 * Returns undefined if the store was unavailable. Reading changes nothing, so the caller polls
 * again.
 */
async function readPage(
  store: KernelStore,
  after: EventSeq,
  { onOutage }: WatchOptions,
): Promise<EventPage | undefined> {
  try {
    return await store.leases.events({ after, limit: PAGE });
  } catch (fault) {
    if (!isOutage(fault)) throw fault;
    callSafely(
      () => onOutage?.(fault),
      () => undefined,
    );
    return undefined;
  }
}

async function untilNextRead(
  store: KernelStore,
  wait: {
    readonly timers: Timers;
    readonly signal: AbortSignal | undefined;
    readonly pollMs: number;
  },
): Promise<void> {
  const hinted = new AbortController();
  const unhint = store.onHint(() => hinted.abort());
  const signals = wait.signal === undefined ? [hinted.signal] : [hinted.signal, wait.signal];
  try {
    await wait.timers.pause(wait.pollMs, AbortSignal.any(signals));
  } finally {
    unhint();
  }
}
