// Watching a store: its events in order, from any point, without missing one (O-1). It polls; hints
// only make it look sooner.

import { rejectUnknownOptions, wholeNumber } from '../support/options.ts';
import { jittered, type Random, systemRandom } from '../support/random.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import type { EventSeq, LeaseEvent } from './event.ts';
import type { KernelStore } from './port.ts';

export interface WatchOptions {
  /** Where to go on: the `seq` of the last event seen. Default 0, the oldest kept. */
  readonly after?: EventSeq;
  readonly signal?: AbortSignal;
  /** How often to look. Default 1000. */
  readonly pollMs?: number;
  readonly timers?: Timers;
  readonly random?: Random;
}

/** `truncated`: events between the reader's place and `seq` are no longer kept; read the state anew. */
export type Watched = LeaseEvent | { readonly kind: 'truncated'; readonly seq: EventSeq };

const PAGE = 500;

export async function* watchLeases(
  store: KernelStore,
  options: WatchOptions = {},
): AsyncGenerator<Watched, void, void> {
  rejectUnknownOptions('watchLeases', options, ['after', 'signal', 'pollMs', 'timers', 'random']);
  const pollMs = wholeNumber('pollMs', options.pollMs ?? 1_000, { min: 10, max: 3_600_000 });
  const { timers = systemTimers, random = systemRandom, signal } = options;
  let after = options.after ?? 0;
  while (signal?.aborted !== true) {
    const page = await store.leases.events({ after, limit: PAGE });
    if (page.kind === 'truncated') {
      after = page.oldest;
      yield { kind: 'truncated', seq: after };
      continue;
    }
    after = page.next;
    yield* page.events;
    if (page.events.length < PAGE)
      await untilNextLook(store, { timers, signal, pollMs: jittered(random, pollMs, 0.1) });
  }
}

async function untilNextLook(
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
