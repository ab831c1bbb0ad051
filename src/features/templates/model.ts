// Templates: submissions kept under a name. A version never changes, so the template and version of
// an execution always identify what was submitted.

import type { ConcurrencyKey, Lane, RateKey } from '../../execution/execution.ts';
import type { Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

/** One version of a template, as an execution names it. */
export interface TemplateVersion {
  readonly id: string;
  readonly version: number;
}

/** Defaults for options that the caller leaves out. */
export interface TemplateOptions {
  readonly lane?: Lane;
  readonly tags?: readonly string[];
  readonly deadlineMs?: number;
  readonly concurrency?: ConcurrencyKey;
  readonly rate?: RateKey;
}

export interface Template extends TemplateVersion, TemplateOptions {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  /** Parameters that whoever submits does not give. */
  readonly defaults: Payload;
  /** Of all of it, before any codec: whether two are the same is decided by this. */
  readonly digest: string;
  readonly createdAt: Instant;
  /** Who put it there. */
  readonly by?: string;
}
