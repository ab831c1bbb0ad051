// The sweeper records what the clock has already decided. It expires overdue sessions, records the
// ends that follow, and deletes old rows. Takeovers do not depend on it, because any acquire
// reclaims what it needs. Any number of sweepers may run on one store.

import { type Clock, systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  integerOption,
  optionalFunctions,
  rejectUnknownOptions,
  wordsIn,
} from '../support/options.ts';
import { jittered, type Random, systemRandom } from '../support/random.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import { elapsedMs, momentOf } from './authority.ts';
import type { KernelStore, Swept } from './port.ts';
import { requireStore } from './session-options.ts';
import { callStore, isStoreOutage, type StoreOutage } from './store-call.ts';

/** Options of `startSweeper`. */
export interface SweeperOptions {
  /** An open store. */
  readonly store: KernelStore;
  /** Milliseconds between sweeps, 10 to 3,600,000. Default 5,000. */
  readonly everyMs?: number;
  /** The most records that one sweep changes, 1 to 100,000. Default 500. */
  readonly limit?: number;
  /** Called after each sweep. */
  readonly onSwept?: (swept: Swept) => void;
  /** The clock. Default: the system's. Replace it in tests. */
  readonly clock?: Clock;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
  /** The random source. Default: that of Node. Replace it in tests. */
  readonly random?: Random;
}

/**
 * A running sweeper.
 *
 * @example
 * const sweeper = startSweeper({ store });
 * await sweeper.stop();
 */
export interface Sweeper {
  /** Sweeps now and returns the result, or an outage as a value. */
  tick(): Promise<Swept | StoreOutage>;
  /** Stops sweeping. */
  stop(): Promise<void>;
}

const SWEEP_MS_MAX = 30_000;

/**
 * Starts a sweeper: it records the ends of expired sessions and deletes records past their
 * retention.
 *
 * Takeover does not depend on it, since every acquire reclaims the key that it needs. Several may
 * run on one store. Throws `InvalidInput` for invalid options. Outages are waited out.
 *
 * @example
 * const sweeper = startSweeper({ store, everyMs: 10_000, onSwept: ({ expired }) => console.log(expired.length) });
 */
export function startSweeper(options: SweeperOptions): Sweeper {
  rejectUnknownOptions(
    'startSweeper',
    options,
    wordsIn('store everyMs limit onSwept clock timers random'),
  );
  requireStore('startSweeper', options.store);
  if (options.store.sessions.sweep === undefined) {
    throw new InvalidInput(
      'startSweeper: this store is a coordinator, which sweeps by itself. No sweeper was started. Remove the call.',
    );
  }
  optionalFunctions('startSweeper', { onSwept: options.onSwept });
  const everyMs = integerOption('everyMs', options.everyMs ?? 5_000, { min: 10, max: 3_600_000 });
  const limit = integerOption('limit', options.limit ?? 500, { min: 1, max: 100_000 });
  const { store, clock = systemClock, timers = systemTimers, random = systemRandom } = options;
  const stop = new AbortController();
  const tick = async (): Promise<Swept | StoreOutage> => {
    const swept = await callStore(() => sweepOnce(store, limit), SWEEP_MS_MAX, timers);
    if (isStoreOutage(swept)) return swept;
    options.onSwept?.(swept.swept);
    return swept.swept;
  };
  let sweeping = false;
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const pauseMs = jittered(random, everyMs, 0.1);
      const from = momentOf(clock);
      await timers.pause(pauseMs, stop.signal);
      // After its own stall, the sweeper does not act on its old view (E-7). Holders may have
      // stalled with it, so they get one more interval.
      const stalled = elapsedMs(from, momentOf(clock)) > pauseMs + everyMs;
      if (stop.signal.aborted || stalled) continue;
      sweeping = true;
      await tick().catch(() => undefined);
      sweeping = false;
    }
  };
  const running = run();
  return {
    tick,
    stop: async () => {
      stop.abort();
      // A sweep under way ends by itself, within its time limit.
      if (!sweeping) await running;
    },
  };
}

async function sweepOnce(
  store: KernelStore,
  limit: number,
): Promise<{ readonly kind: 'swept'; readonly swept: Swept }> {
  return { kind: 'swept', swept: await store.sessions.sweep({ limit }) };
}
