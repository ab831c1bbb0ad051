// Watches a store: its events in order, from any point, without missing one (O-1). It polls, and a
// hint triggers the next poll sooner.

import type { OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import {
  integerOption,
  optionalFunctions,
  rejectUnknownOptions,
  wordsIn,
} from '../support/options.ts';
import { jittered, type Random, systemRandom } from '../support/random.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import type { EventSeq, LeaseEvent } from './event.ts';
import { callSafely } from './observer.ts';
import type { EventPage, LeaseService } from './port.ts';
import { requireStore } from './session-options.ts';
import { isOutage } from './store-call.ts';

/** Options of `watchLeases`. */
export interface WatchOptions {
  /** The `seq` of the last event that you have seen. Default 0: the oldest that is kept. */
  readonly after?: EventSeq;
  /** Ends the watch when it aborts. */
  readonly signal?: AbortSignal;
  /** Milliseconds between polls, 10 to 3,600,000. Default 1,000. */
  readonly pollMs?: number;
  /**
   * Called for each poll that failed because the store could not be reached. The watch polls again.
   */
  readonly onOutage?: (fault: StoreUnavailable | OutcomeUnknown) => void;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
  /** The random source. Default: that of Node. Replace it in tests. */
  readonly random?: Random;
}

/**
 * An event, or `truncated`: events up to `seq` are no longer kept; read the current state instead.
 */
export type Watched = LeaseEvent | { readonly kind: 'truncated'; readonly seq: EventSeq };

const PAGE = 500;

const NAMES: readonly (keyof WatchOptions)[] = wordsIn(
  'after signal pollMs onOutage timers random',
);

/**
 * Yields the events of a store in order, from any point, without missing one.
 *
 * Waits out outages and ends when `signal` aborts. Throws `InvalidInput` for invalid options, and
 * any other fault of the store.
 *
 * @example
 * for await (const event of watchLeases(store, { signal: AbortSignal.timeout(60_000) })) {
 *   if (event.kind === 'ended') console.log(event.key, event.exit);
 * }
 */
export function watchLeases(
  store: LeaseService,
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
  store: LeaseService,
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
  store: LeaseService,
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
  store: LeaseService,
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
