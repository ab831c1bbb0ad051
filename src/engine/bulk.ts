// Acts on many executions, each a durable job: re-drive dead letters, cancel what is open.

import type { Status } from '../execution/execution.ts';
import { type ExecutionId, parseExecutionId } from '../execution/names.ts';
import type { JobItem } from '../store/contract/repair-store.ts';
import { rejectUnknownOptions, wholeNumber } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import { type DeadLetterFilter, FILTERS, filterOf } from './dead-letter-query.ts';
import type { Acting } from './holdfast-types.ts';
import { JOB_PIPELINE, type JobInput, type JobOutput } from './jobs.ts';
import { modeOf } from './redriving.ts';
import type { RedriveOptions } from './repair.ts';
import { projectOf, type SubmitOptions } from './submission.ts';

export interface BulkRedriveOptions extends Omit<RedriveOptions, 'project' | 'from'> {
  readonly filter?: DeadLetterFilter;
  /** At most so many a second. */
  readonly perSecond?: number;
  /** Counts what would be done and does nothing. */
  readonly dryRun?: boolean;
  /** Same key, same job. */
  readonly key?: string;
}

export interface BulkCancelOptions extends Omit<Acting, 'project'> {
  readonly filter: {
    readonly project?: string;
    readonly pipeline?: string;
    readonly status?: Status;
    readonly tag?: string;
  };
  readonly perSecond?: number;
  readonly dryRun?: boolean;
  readonly key?: string;
}

/** Submits a job; the engine's own `submit`. */
type SubmitJob = (
  input: JobInput,
  options: SubmitOptions,
) => Promise<{ readonly id: ExecutionId; result(): Promise<JobOutput> }>;

const PAGE_MAX = 10_000;

export class Bulk {
  readonly #config: EngineConfig;
  readonly #submit: SubmitJob;

  constructor(config: EngineConfig, submit: SubmitJob) {
    this.#config = config;
    this.#submit = submit;
  }

  /** A durable job over dead letters: pause, resume and cancel it like any execution. */
  async redrive(
    options: BulkRedriveOptions = {},
  ): Promise<{ readonly id: ExecutionId; result(): Promise<JobOutput> }> {
    const names = ['filter', 'mode', 'perSecond', 'dryRun', 'by', 'reason', 'key'];
    rejectUnknownOptions('bulk.redrive', options, names);
    const { filter = {}, mode, by, reason } = options;
    rejectUnknownOptions('bulk.redrive filter', filter, FILTERS);
    const { project } = filterOf(filter);
    return this.#submit(
      {
        act: 'redrive',
        mode: modeOf(mode),
        filter,
        ...paceOf(options),
        by: by ?? 'unknown',
        reason: reason ?? '',
      },
      { project, ...jobOptions(options) },
    );
  }

  /** A durable job that cancels what is open. */
  async cancel(
    options: BulkCancelOptions,
  ): Promise<{ readonly id: ExecutionId; result(): Promise<JobOutput> }> {
    rejectUnknownOptions('bulk.cancel', options, [
      'filter',
      'perSecond',
      'dryRun',
      'by',
      'reason',
      'key',
    ]);
    const { filter, by, reason } = options;
    rejectUnknownOptions('bulk.cancel filter', filter, ['project', 'pipeline', 'status', 'tag']);
    const project = projectOf(filter.project);
    return this.#submit(
      { act: 'cancel', filter, ...paceOf(options), by: by ?? 'unknown', reason: reason ?? '' },
      { project, ...jobOptions(options) },
    );
  }

  /** What became of each item of a job, by target. */
  items(
    job: string,
    page: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly JobItem[]> {
    const { after } = page;
    return this.#config.store.executions.jobItems({
      job: parseExecutionId(job),
      limit: wholeNumber('limit', page.limit ?? 1_000, { min: 1, max: PAGE_MAX }),
      ...(after === undefined ? {} : { after: parseExecutionId(after) }),
    });
  }
}

function paceOf({
  perSecond,
  dryRun,
}: {
  readonly perSecond?: number;
  readonly dryRun?: boolean;
}): {
  readonly perSecond?: number;
  readonly dryRun: boolean;
} {
  if (perSecond !== undefined) wholeNumber('perSecond', perSecond, { min: 1, max: 1_000_000 });
  return { dryRun: dryRun === true, ...(perSecond === undefined ? {} : { perSecond }) };
}

function jobOptions({ key, by }: { readonly key?: string; readonly by?: string }): SubmitOptions {
  return {
    lane: 'batch',
    tags: [JOB_PIPELINE],
    ...(key === undefined ? {} : { key }),
    ...(by === undefined ? {} : { by }),
  };
}
