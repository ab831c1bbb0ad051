import type { CoordinatorStore, Outcome } from '../store/contract/execution-store.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions, wholeNumber } from '../support/options.ts';
import { type Random, systemRandom } from '../support/random.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import type { EngineConfig } from './config.ts';
import { ExecutionIds } from './ids.ts';
import type { ExecutionObserver } from './observer.ts';
import { patientBlobs } from './patient-blobs.ts';
import { DEFAULT_LIMITS, type PayloadCodec, type PayloadLimits, Payloads } from './payloads.ts';

export interface HoldfastOptions {
  readonly store: CoordinatorStore;
  readonly observer?: ExecutionObserver;
  /** Encrypts or compresses every value before it is stored. */
  readonly codec?: PayloadCodec;
  readonly payloads?: Partial<PayloadLimits>;
  /** Waits that are shorter stay in memory, longer ones are parked. Default 100. */
  readonly parkAfterMs?: number;
  /** Claims in a row that recorded nothing before an execution is quarantined. Default 5. */
  readonly fruitlessClaimsMax?: number;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
}

const NAMES: readonly (keyof HoldfastOptions)[] = [
  'store',
  'observer',
  'codec',
  'payloads',
  'parkAfterMs',
  'fruitlessClaimsMax',
  'clock',
  'timers',
  'random',
];

const DRIFT_GRACE_MS = 100;

export function resolveOptions(
  options: HoldfastOptions,
  ended: (outcome: Outcome) => void,
): EngineConfig {
  rejectUnknownOptions('openHoldfast', options, NAMES);
  const { store, codec, observer } = options;
  const { clock = systemClock, random = systemRandom, timers = systemTimers } = options;
  if (store?.executions === undefined) {
    throw new InvalidInput(
      'openHoldfast: store is missing or keeps no executions. Open one first, such as await openSqliteStore({ file }), and pass it.',
    );
  }
  const limits = { ...DEFAULT_LIMITS, ...options.payloads };
  rejectUnknownOptions('payloads', limits, Object.keys(DEFAULT_LIMITS));
  const bytesMax = wholeNumber('payloads.bytesMax', limits.bytesMax, { min: 1_024, max: 2 ** 30 });
  wholeNumber('payloads.inlineBytesMax', limits.inlineBytesMax, { min: 256, max: bytesMax });
  return Object.freeze({
    store,
    payloads: new Payloads(patientBlobs(store.executions, { timers, random }), limits, codec),
    observer,
    ended,
    ids: new ExecutionIds(clock, random),
    clock,
    timers,
    random,
    parkAfterMs: wholeNumber('parkAfterMs', options.parkAfterMs ?? 100, { min: 20, max: 60_000 }),
    driftGraceMs: DRIFT_GRACE_MS,
    fruitlessClaimsMax: wholeNumber('fruitlessClaimsMax', options.fruitlessClaimsMax ?? 5, {
      min: 1,
      max: 1_000,
    }),
  });
}
