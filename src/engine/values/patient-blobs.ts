// Large values are put aside while a step's result waits for that. A store that is away for a while must
// not turn a step that has succeeded into one that is tried again.

import type { BlobStore } from '../../store/contract/payload-store.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { jittered, type Random } from '../../support/random.ts';
import type { Timers } from '../../support/timer.ts';

const PAUSE_MS = { first: 50, max: 2_000 } as const;

/** How often it is tried before whoever waits is told: about ten minutes. */
const TRIES_MAX = 300;

export function patientBlobs(
  store: BlobStore,
  { timers, random }: { readonly timers: Timers; readonly random: Random },
): BlobStore {
  const patiently = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call();
      } catch (fault) {
        const isAway = fault instanceof StoreUnavailable || fault instanceof OutcomeUnknown;
        if (!isAway || tries >= TRIES_MAX) throw fault;
      }
      const pauseMs = Math.min(PAUSE_MS.first * 2 ** Math.min(tries, 10), PAUSE_MS.max);
      await timers.pause(jittered(random, pauseMs, 0.3));
    }
  };
  return {
    putBlob: (blob) => patiently(() => store.putBlob(blob)),
    getBlob: (query) => patiently(() => store.getBlob(query)),
    attributeBlobs: (request) => patiently(() => store.attributeBlobs(request)),
  };
}
