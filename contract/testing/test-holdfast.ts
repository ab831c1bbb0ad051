// Time travel for tests of pipelines: a Holdfast in memory whose clock stands still until the test
// moves it. A pipeline that sleeps for thirty days runs in milliseconds, with the same engine.

import { isDate } from 'node:util/types';
import type { HoldfastOptions } from '../../src/engine/config.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { SILENT } from '../../src/engine/observer.ts';
import type { Worker, WorkerOptions } from '../../src/engine/worker/worker-options.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { InvalidInput } from '../../src/support/fault.ts';
import { integerOption, readOptions, shown, wordsIn } from '../../src/support/options.ts';
import { ManualClock } from './manual-clock.ts';

/** Options of `openTestHoldfast`. */
export interface TestHoldfastOptions extends Omit<HoldfastOptions, 'store' | 'clock' | 'timers'> {
  /** The pipelines under test. */
  readonly pipelines: WorkerOptions['pipelines'];
  /** The time at the start. Default: 2030. */
  readonly start?: Date;
}

/**
 * Holdfast in memory with a clock that a test moves.
 *
 * @example
 * import { pipeline } from 'holdfast';
 *
 * const order = pipeline({ name: 'order', run: (ctx) => ctx.sleep(30 * 86_400_000) });
 * await using testing = await openTestHoldfast({ pipelines: [order] });
 * const handle = await testing.holdfast.submit(order, undefined);
 * await testing.advance(30 * 86_400_000);
 * await handle.result();
 */
export interface TestHoldfast {
  /** The engine. */
  readonly holdfast: Holdfast;
  /** The clock. */
  readonly clock: ManualClock;
  /** Moves time by `ms` milliseconds. Everything that is due happens, in order. */
  advance(ms: number): Promise<void>;
  /** Simulates a crash and a new process. Memory is lost; the history is kept. */
  restart(): Promise<void>;
  /** Closes the engine and the store. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** So long that nothing polls and no session expires: only what the test does happens. */
const POLL_MS = 31 * 86_400_000;
const TTL_MS = 7 * 86_400_000;
/**
 * The interval of a worker's other duties. The usual minute would dominate the cost of a month of
 * test time.
 */
const DUTY_MS = 3_600_000;

const ADVANCE_MS_MAX = 100 * 366 * 86_400_000;

const NAMES: readonly (keyof TestHoldfastOptions)[] = wordsIn(
  'pipelines start observer codec payloads links relayAnswersMs retention jobLimits parkAfterMs maxClaimsWithoutProgress random',
);

/**
 * Opens Holdfast in memory, with a clock that stands still until the test moves it.
 *
 * A pipeline that sleeps for 30 days is tested in milliseconds. Throws `InvalidInput` for invalid
 * options.
 *
 * @example
 * import { pipeline } from 'holdfast';
 *
 * const order = pipeline({ name: 'order', run: (ctx) => ctx.sleep(30 * 86_400_000) });
 * await using testing = await openTestHoldfast({ pipelines: [order] });
 * const handle = await testing.holdfast.submit(order, undefined);
 * await testing.advance(30 * 86_400_000);
 * await handle.result();
 */
export async function openTestHoldfast(options: TestHoldfastOptions): Promise<TestHoldfast> {
  const { pipelines, start, ...rest } = readOptions('openTestHoldfast', options, NAMES);
  const clock = new ManualClock(startOf(start));
  const store = openMemoryStore({ clock, policy: { ttlMsMax: TTL_MS } });
  const holdfast = new Holdfast({ observer: SILENT, ...rest, store, clock, timers: clock.timers });
  const seldom = { ttlMs: TTL_MS, pollMs: POLL_MS, probeMs: DUTY_MS, reconcileMs: DUTY_MS };
  const work = (): Promise<Worker> => holdfast.worker({ pipelines, ...seldom });
  let worker = await work();
  const close = async (): Promise<void> => {
    await holdfast.close();
    await store.close();
  };
  return {
    holdfast,
    clock,
    async advance(ms) {
      await clock.advance(integerOption('advance', ms, { min: 0, max: ADVANCE_MS_MAX }));
      // Deadlines of waiting executions, and changed timeouts of awaits, are periodic duties, so
      // run them here.
      await store.executions.maintain({ limit: 1_000 });
      await store.executions.expireAwaits({ limit: 1_000 });
      await clock.settle();
    },
    async restart() {
      worker.crash();
      const by = { kind: 'operator', actor: 'test', reason: 'restart' } as const;
      await store.sessions.end({ id: worker.session, by });
      worker = await work();
      await clock.settle();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function startOf(start: unknown): number | undefined {
  if (start === undefined) return undefined;
  const ms = isDate(start) ? start.getTime() : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new InvalidInput(`openTestHoldfast: start must be a valid Date; got ${shown(start)}.`);
}
