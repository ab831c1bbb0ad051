// Templates: what to submit, kept under a name. A version never changes, so an execution that names its
// template and version says for good what it was submitted with.

import type { ConcurrencyKey, Lane, RateKey } from '../../execution/execution.ts';
import type { Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

/** One version of a template, as an execution names it. */
export interface TemplateVersion {
  readonly id: string;
  readonly version: number;
}

/** What a submission gets from it unless the caller says otherwise. */
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
