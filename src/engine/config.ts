// The options of Holdfast, and the configuration that the engine resolves from them once, when it
// opens.

import { isPromise } from 'node:util/types';
import type { ExecutionObserver } from '../execution/report.ts';
import { RefusalTally } from '../features/audit/tally-api.ts';
import { AnswerLinks, type LinkOptions } from '../features/awaits/links-api.ts';
import { type JobLimits, NO_JOB_LIMITS } from '../features/repair/job-limits-api.ts';
import {
  type Retaining,
  type RetentionOptions,
  resolveRetention,
} from '../features/retention/api.ts';
import type { Session } from '../lease/live-session.ts';
import type { Outcome } from '../store/contract/execution-reads.ts';
import type { CoordinatorStore, WorkerStore } from '../store/contract/execution-store.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  integerOption,
  readOptions,
  requireMethods,
  unreadable,
  wordsIn,
} from '../support/options.ts';
import { type Random, systemRandom } from '../support/random.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import { Circuits } from './circuits.ts';
import { ExecutionIds } from './ids.ts';
import { sendReport } from './observer.ts';
import { KnownPipelines, type Pipelines } from './pipeline.ts';
import { patientBlobs } from './store-replies.ts';
import {
  DEFAULT_LIMITS,
  type PayloadCodec,
  type PayloadLimits,
  Payloads,
} from './values/payloads.ts';

/** The configuration of any worker, including one whose store is a remote coordinator. */
export interface WorkerConfig {
  readonly store: WorkerStore;
  readonly payloads: Payloads;
  /** For running executions: waits until an unavailable store is back. */
  readonly patientPayloads: Payloads;
  readonly observer: ExecutionObserver | undefined;
  /** The engine calls this when an execution ended in this process. */
  readonly ended: (outcome: Outcome) => void;
  /** The engine calls this when a reminder or the end of an await falls due in `ms`. */
  readonly awaitDueIn: (ms: number) => void;
  /**
   * Opens the session that holds leases of `ctx.lease`. Undefined: the worker's own session holds
   * them.
   */
  readonly leaseSession?: (() => Promise<Pick<Session, 'acquire'>>) | undefined;
  /** The pipelines whose code is in this process. */
  readonly pipelines: KnownPipelines;
  readonly links: AnswerLinks | undefined;
  /**
   * Counts the writes that the store refused to this process. Undefined where a coordinator counts
   * them.
   */
  readonly refusals: RefusalTally | undefined;
  /** The circuits of steps, by project and name. */
  readonly circuits: Circuits;
  readonly ids: ExecutionIds;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** The engine keeps shorter waits in memory and parks longer ones. */
  readonly parkAfterMs: number;
  /**
   * Time for the code to make the call that history has next. After it the engine reports drift.
   */
  readonly driftGraceMs: number;
  /** Claims in a row without progress before a worker quarantines an execution. */
  readonly maxClaimsWithoutProgress: number;
}

/** The configuration of a process that has its own connection to the store. */
export interface EngineConfig extends WorkerConfig {
  readonly store: CoordinatorStore;
  readonly refusals: RefusalTally;
  /** Which ended executions this process removes. Undefined: none. */
  readonly retention: Retaining | undefined;
  /** Time for a worker to check an answer. Undefined: this process asks no worker. */
  readonly relayAnswersMs: number | undefined;
  readonly jobLimits: JobLimits;
}

export function hasStore(config: WorkerConfig): config is EngineConfig {
  return 'access' in config.store;
}

/** Options of `new Holdfast` and, with an address as `store`, of `openHoldfast`. */
export interface HoldfastOptions {
  /** An open store that keeps executions: memory, SQLite or PostgreSQL. */
  readonly store: CoordinatorStore;
  /** Gets reports of claims, steps, ends and problems. By default there is none. */
  readonly observer?: ExecutionObserver;
  /**
   * Encrypts or compresses every value before it is stored. By default values are stored as JSON.
   */
  readonly codec?: PayloadCodec;
  /** Size limits of values. */
  readonly payloads?: Partial<PayloadLimits>;
  /**
   * Pipelines whose code this process has but does not run. Their questions check answers. Default
   * none.
   */
  readonly pipelines?: Pipelines;
  /** Keys that sign answer links. By default links cannot be made. */
  readonly links?: LinkOptions;
  /**
   * Milliseconds that a worker has to check an answer to a question that only the workers' code
   * declares, 1 to 600,000. By default such answers are refused.
   */
  readonly relayAnswersMs?: number;
  /**
   * How long ended executions are kept and where they are archived. By default they are kept for
   * ever. Use the same in every process.
   */
  readonly retention?: RetentionOptions;
  /** Limits the bulk jobs and the archiving of each project. By default there are no limits. */
  readonly jobLimits?: JobLimits;
  /**
   * Waits of up to this many milliseconds stay in memory; longer ones release the worker. 20 to
   * 60,000; default 100.
   */
  readonly parkAfterMs?: number;
  /**
   * Claims in a row that are lost without progress before the execution is quarantined. 3 to 1,000;
   * default 5.
   */
  readonly maxClaimsWithoutProgress?: number;
  /** The clock. Default: the system's. Replace it in tests. */
  readonly clock?: Clock;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
  /** The random source. Default: that of Node. Replace it in tests. */
  readonly random?: Random;
}

export const HOLDFAST_OPTION_NAMES: readonly (keyof HoldfastOptions)[] = wordsIn(
  'store observer codec payloads pipelines links relayAnswersMs retention jobLimits parkAfterMs maxClaimsWithoutProgress clock timers random',
);

const DRIFT_GRACE_MS = 100;

export function resolveOptions(
  given: HoldfastOptions,
  callbacks: Pick<WorkerConfig, 'ended' | 'awaitDueIn'>,
): EngineConfig {
  const options = readOptions('openHoldfast', given, HOLDFAST_OPTION_NAMES);
  const { store, jobLimits = NO_JOB_LIMITS } = options;
  requireCoordinatorStore(store);
  requireMethods('openHoldfast: jobLimits', jobLimits, ['page', 'begin']);
  const config = resolveWorkerConfig(options, callbacks);
  return Object.freeze({
    ...config,
    store,
    refusals: new RefusalTally(store, config.timers, config.clock),
    relayAnswersMs: relayTimeOf(options.relayAnswersMs),
    jobLimits,
    retention: options.retention === undefined ? undefined : resolveRetention(options.retention),
  });
}

/** For a worker whose store may be a remote coordinator. */
export function resolveWorkerConfig(
  options: Omit<HoldfastOptions, 'store'> & { readonly store: WorkerStore },
  callbacks: Pick<WorkerConfig, 'ended' | 'awaitDueIn' | 'leaseSession'>,
): WorkerConfig {
  const {
    store,
    codec,
    observer,
    links,
    parkAfterMs = 100,
    maxClaimsWithoutProgress = 5,
  } = options;
  const { clock = systemClock, random = systemRandom, timers = systemTimers } = options;
  if (observer !== undefined) requireMethods('openHoldfast: observer', observer, ['report']);
  if (codec !== undefined) requireMethods('openHoldfast: codec', codec, ['encode', 'decode']);
  requireMethods('openHoldfast: clock', clock, ['wallMs', 'monotonicMs']);
  requireMethods('openHoldfast: timers', timers, ['after', 'pause', 'soon']);
  requireMethods('openHoldfast: random', random, ['next', 'uuid']);
  const limits = limitsOf(options.payloads);
  return Object.freeze({
    store,
    payloads: new Payloads(store.executions, limits, codec),
    patientPayloads: new Payloads(
      patientBlobs(store.executions, { timers, random }),
      limits,
      codec,
    ),
    observer,
    ...callbacks,
    pipelines: new KnownPipelines(options.pipelines),
    links: links === undefined ? undefined : new AnswerLinks(links),
    refusals: undefined,
    circuits: new Circuits({ clock, report: (report) => sendReport(observer, report) }),
    ids: new ExecutionIds(clock, random),
    clock,
    timers,
    random,
    parkAfterMs: integerOption('parkAfterMs', parkAfterMs, { min: 20, max: 60_000 }),
    driftGraceMs: DRIFT_GRACE_MS,
    maxClaimsWithoutProgress: integerOption('maxClaimsWithoutProgress', maxClaimsWithoutProgress, {
      // The first two lost claims do not prove that the execution is at fault.
      min: 3,
      max: 1_000,
    }),
  });
}

export function requireCoordinatorStore(store: unknown): void {
  try {
    const { executions, sessions } = (store ?? {}) as Partial<CoordinatorStore>;
    const isStore =
      typeof executions?.submit === 'function' && typeof sessions?.open === 'function';
    if (isStore) return;
  } catch (cause) {
    throw unreadable('openHoldfast: store', cause);
  }
  throw new InvalidInput(
    isPromise(store)
      ? 'openHoldfast: store is a promise. Await it before you pass it.'
      : 'openHoldfast: store is required and must keep executions. Pass an open one, such as await openSqliteStore({ file }).',
  );
}

function relayTimeOf(given: number | undefined): number | undefined {
  return given === undefined
    ? undefined
    : integerOption('relayAnswersMs', given, { min: 1, max: 600_000 });
}

export function limitsOf(given: Partial<PayloadLimits> | undefined): PayloadLimits {
  if (given === undefined) return DEFAULT_LIMITS;
  const chosen = readOptions('payloads', given, Object.keys(DEFAULT_LIMITS));
  const limits = { ...DEFAULT_LIMITS, ...chosen };
  const bytesMax = integerOption('payloads.bytesMax', limits.bytesMax, {
    min: 1_024,
    max: 2 ** 30,
  });
  integerOption('payloads.inlineBytesMax', limits.inlineBytesMax, { min: 256, max: bytesMax });
  return limits;
}

/**
 * A coordinator accepts rows of up to 128 Ki characters, and a codec's bytes grow by a third as
 * text.
 */
const REMOTE_INLINE_BYTES_MAX = 96_000;

/**
 * For a remote worker: caps the inline size at what a coordinator accepts, whatever the options ask
 * for.
 */
export function remoteLimitsOf(given: Partial<PayloadLimits> | undefined): PayloadLimits {
  const limits = limitsOf(given);
  return { ...limits, inlineBytesMax: Math.min(limits.inlineBytesMax, REMOTE_INLINE_BYTES_MAX) };
}
