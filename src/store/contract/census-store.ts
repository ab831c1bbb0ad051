// The part of the port that counts, for operators and for metrics. Nothing depends on what it says.

import type { Lane } from '../../execution/execution.ts';
import type { ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';

export interface CensusStore {
  /** How many executions these sessions run now, by session and lane; none is left out. */
  inFlight(query: CountInFlight): Promise<readonly InFlight[]>;
  /** How many are ready and how many run, by lane; each is counted up to `max`. */
  depth(query: CountDepth): Promise<readonly Depth[]>;
  /** Something outside that claims or times suffer from, for people who operate the store. */
  findProblem?(): Promise<StoreProblem | undefined>;
}

export interface StoreProblem {
  readonly sentence: string;
  readonly advice: string;
}

export interface CountInFlight {
  readonly sessions: readonly SessionId[];
  /** Of this one only; of all when undefined. */
  readonly project?: ProjectName;
}

export interface InFlight {
  readonly session: SessionId;
  readonly lane: Lane;
  readonly count: number;
}

export interface CountDepth {
  readonly max: number;
  /** Of this one only; of all when undefined. */
  readonly project?: ProjectName;
}

export interface Depth {
  readonly lane: Lane;
  /** A worker could claim them now, limits of their keys apart. */
  readonly ready: number;
  readonly running: number;
}
