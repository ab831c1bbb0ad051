// Limits the bulk jobs of one process, so that a project's jobs leave room for other projects (P-18).

import type { ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

export interface JobLimits {
  /** The most items of one page in progress. Undefined: each operation has its own number. */
  readonly lanes: number | undefined;
  /** Runs the page when no other page of the project is in progress, in order of arrival. */
  page<Value>(project: ProjectName, work: () => Promise<Value>): Promise<Value>;
  /** Resolves when the project may begin work of this weight. An item has weight 1. */
  begin(project: ProjectName, weight: number): Promise<void>;
}

/** A page of a list costs as much as several items. */
export const LIST_WEIGHT = 4;

/** For a worker that shares its process with no other project's requests. */
export const NO_JOB_LIMITS: JobLimits = {
  lanes: undefined,
  page: (_, work) => work(),
  begin: () => Promise.resolve(),
};

export interface JobTurn {
  readonly project: ProjectName;
  readonly limits: JobLimits;
  readonly signal: AbortSignal;
  /** When the job was submitted, by the store's clock. */
  readonly submittedAt?: Instant;
}

/** A job that loses its claim while it waits does nothing more. */
export function inJobTurn<Value>(
  { project, limits, signal }: JobTurn,
  work: () => Promise<Value>,
): Promise<Value> {
  return limits.page(project, () => {
    signal.throwIfAborted();
    return work();
  });
}

/** Waits until the next item, or work of another weight, may begin. */
export async function beginIn({ project, limits, signal }: JobTurn, weight = 1): Promise<void> {
  await limits.begin(project, weight);
  signal.throwIfAborted();
}
