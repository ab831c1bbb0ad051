// Templates: submissions kept under a name. A version never changes, so the template and version of
// an execution always identify what was submitted.

import type { ConcurrencyKey, Lane, RateKey } from '../../execution/execution.ts';
import type { Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

/** One version of a template. */
export interface TemplateVersion {
  /** The id of the template. */
  readonly id: string;
  /** The version. */
  readonly version: number;
}

/** Options of submissions by a template. Options of the submission override them. */
export interface TemplateOptions {
  /** The priority class. */
  readonly lane?: Lane;
  /** The tags. */
  readonly tags?: readonly string[];
  /** Milliseconds from submit until the execution fails if it has not ended. */
  readonly deadlineMs?: number;
  /** The concurrency limit. */
  readonly concurrency?: ConcurrencyKey;
  /** The rate limit. */
  readonly rate?: RateKey;
}

/** A version of a template as it is stored. It never changes. */
export interface Template extends TemplateVersion, TemplateOptions {
  /** The project. */
  readonly project: ProjectName;
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
  /** The default parameters as they are stored. */
  readonly defaults: Payload;
  /** The digest of its content. */
  readonly digest: string;
  /** When it was put. */
  readonly createdAt: Instant;
  /** The actor who put it. */
  readonly actor?: string;
}
