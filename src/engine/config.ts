// What the parts of the engine are given. Resolved once, when Holdfast or a worker is opened.

import type { ExecutionObserver } from '../execution/report.ts';
import type { RefusalTally } from '../features/audit/tally-api.ts';
import type { AnswerLinks } from '../features/awaits/links-api.ts';
import type { Retaining } from '../features/retention/options-api.ts';
import type { CoordinatorStore, Outcome, WorkerStore } from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import type { Random } from '../support/random.ts';
import type { Timers } from '../support/timer.ts';
import type { ExecutionIds } from './ids.ts';
import type { KnownPipelines } from './known-pipelines.ts';
import type { Payloads } from './values/payloads.ts';

/** What a worker needs, also one whose store is a coordinator elsewhere. */
export interface WorkerConfig {
  readonly store: WorkerStore;
  readonly payloads: Payloads;
  /** For what runs: waits for a store that is away. */
  readonly patientPayloads: Payloads;
  readonly observer: ExecutionObserver | undefined;
  /** An execution ended in this process. */
  readonly ended: (outcome: Outcome) => void;
  /** A reminder or the end of an await is due then. */
  readonly awaitDueIn: (ms: number) => void;
  /** Those whose code is in this process. */
  readonly pipelines: KnownPipelines;
  readonly links: AnswerLinks | undefined;
  /** What was refused to the workers of this process; undefined: a coordinator counts it. */
  readonly refusals: RefusalTally | undefined;
  readonly ids: ExecutionIds;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Waits that are shorter stay in memory; longer ones are parked. */
  readonly parkAfterMs: number;
  /** How long the code may take to ask for what history has next before that is called drift. */
  readonly driftGraceMs: number;
  /** Claims in a row without progress before an execution is quarantined. */
  readonly fruitlessClaimsMax: number;
}

/** What the other parts are given. They have the store itself; a worker may have only a coordinator that has it. */
export interface EngineConfig extends WorkerConfig {
  readonly store: CoordinatorStore;
  readonly refusals: RefusalTally;
  /** What goes once it has ended; undefined: nothing, by this process. */
  readonly retention: Retaining | undefined;
  /** How long a worker has to check an answer; undefined: none is asked. */
  readonly relayAnswersMs: number | undefined;
}

export function hasStore(config: WorkerConfig): config is EngineConfig {
  return 'access' in config.store;
}
