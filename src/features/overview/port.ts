// The part of the port that counts for operators (X-91 … X-93).

import type { PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { EndedCount, Figures } from './model.ts';

export interface OverviewStore {
  /** Counts what a project has now. Its cost is bounded, however many executions there are. */
  figures(query: ReadFigures): Promise<Figures>;
  /**
   * Adds executions that ended since the last call to the rollups, in one transaction with the
   * position. Callers share the position, so each execution counts once.
   */
  rollUp(): Promise<RolledUp>;
  /** The number of rollups that sums would read, up to one more than `LIST_ROWS_MAX`. */
  endedSize(query: ReadEnded): Promise<number>;
  /** Sums of rollups: of the newest `LIST_ROWS_MAX`. */
  endedCounts(query: ReadEnded): Promise<EndedSums>;
}

export interface ReadFigures {
  readonly project: ProjectName;
}

export interface RolledUp {
  /** Executions that ended until then are in the rollups. */
  readonly until: Instant;
  /** More executions have ended. */
  readonly more: boolean;
}

export interface ReadEnded {
  readonly project: ProjectName;
  /** The length of the rollups to read. */
  readonly stepMs: number;
  /** Intervals that began at or after this time. */
  readonly from: Instant;
  /** Intervals that began before this time. */
  readonly to: Instant;
  /** The length of the sums; a multiple of `stepMs`. */
  readonly intervalMs: number;
  readonly pipeline?: PipelineName;
  /** Needs `pipeline`. */
  readonly release?: string;
}

export interface EndedSums {
  /** Absent before the first rollup. */
  readonly until?: Instant;
  readonly byInterval: readonly (EndedCount & { readonly at: Instant })[];
  readonly byPipeline: readonly (EndedCount & {
    readonly pipeline: PipelineName;
    readonly release?: string;
  })[];
}
