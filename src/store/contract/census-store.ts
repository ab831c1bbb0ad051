// The part of the store port that counts executions for operators and metrics. No
// decision depends on these counts.

import type { Lane } from '../../execution/execution.ts';
import type { PipelineName, ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';

export interface CensusStore {
  /**
   * Counts the executions that these sessions run now, by session and lane. It has no upper bound.
   */
  inFlight(query: CountInFlight): Promise<readonly InFlight[]>;
  /** Counts ready and running executions by lane, each up to `max`. */
  depth(query: CountDepth): Promise<readonly Depth[]>;
  /** Returns what waits for a worker, a person or an operator, by pipeline. */
  backlog(query?: ReadBacklog): Promise<Backlog>;
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

export interface ReadBacklog {
  /** Reads all projects when absent. */
  readonly project?: ProjectName;
}

/** Each list is bounded, so that reading it costs little however long the backlog is. */
export interface Backlog {
  /** Pipelines with ready executions. */
  readonly queues: readonly Pick<BacklogEntry, 'pipeline' | 'oldestMs'>[];
  /** Open questions. */
  readonly awaits: readonly BacklogEntry[];
  /** Dead letters that were not re-driven. */
  readonly deadLetters: readonly BacklogEntry[];
}

export interface BacklogEntry {
  readonly pipeline: PipelineName;
  readonly count: number;
  /** How long the oldest one has waited. */
  readonly oldestMs: number;
}
