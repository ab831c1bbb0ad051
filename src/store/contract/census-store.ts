// The part of the store port that counts executions for operators and metrics. No
// decision depends on these counts.

import type { Lane } from '../../execution/execution.ts';
import type { ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';

export interface CensusStore {
  /**
   * Counts the executions that these sessions run now, by session and lane. It has no upper bound.
   */
  inFlight(query: CountInFlight): Promise<readonly InFlight[]>;
  /** Counts ready and running executions by lane, each up to `max`. */
  depth(query: CountDepth): Promise<readonly Depth[]>;
  /** Returns a problem outside the store that slows claims or distorts time, for operators. */
  findProblem?(): Promise<StoreProblem | undefined>;
}

export interface StoreProblem {
  readonly sentence: string;
  readonly advice: string;
}

export interface CountInFlight {
  readonly sessions: readonly SessionId[];
  /** Counts all projects when absent. */
  readonly project?: ProjectName;
}

export interface InFlight {
  readonly session: SessionId;
  readonly lane: Lane;
  readonly count: number;
}

export interface CountDepth {
  readonly max: number;
  /** Counts all projects when absent. */
  readonly project?: ProjectName;
}

export interface Depth {
  readonly lane: Lane;
  /** Executions that a worker could claim now, ignoring the limits of their keys. */
  readonly ready: number;
  readonly running: number;
}
