// Acts on many executions, each a durable job: re-drive dead letters, cancel what is open.

import type { EngineConfig } from '../../engine/config.ts';
import type { Acting } from '../../engine/holdfast.ts';
import { listQueryOf } from '../../engine/requests.ts';
import type { SubmitOptions } from '../../engine/submission.ts';
import type { Status } from '../../execution/execution.ts';
import { type ExecutionId, parseExecutionId } from '../../execution/names.ts';
import { readOptions, rejectUnknownOptions, wholeNumber } from '../../support/options.ts';
import { checkedActing, stampOf } from '../audit/api.ts';
import type { AuditStamp } from '../audit/model.ts';
import { type AnyJobInput, type BulkMoveOptions, movable } from '../releases/moving-api.ts';
import { type DeadLetterFilter, FILTERS, filterOf, type RedriveOptions } from './api.ts';
import { JOB_PIPELINE, type JobInput, type JobOutput } from './jobs-api.ts';
import type { JobItem } from './port.ts';
import { modeOf } from './redriving-api.ts';

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
  input: AnyJobInput,
  options: SubmitOptions,
  audit: AuditStamp | undefined,
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
    const { filter = {} } = options;
    rejectUnknownOptions('bulk.redrive filter', filter, FILTERS);
    const { project } = filterOf(filter);
    const mode = modeOf(options.mode);
    const pace = paceOf(options);
    const about = { filter, mode, ...pace };
    const audit = stampOf(this.#config, 'bulk-redrive', { ...sayingOf(options), about });
    const said = { by: audit.actor, reason: audit.reason };
    const input: JobInput = { act: 'redrive', mode, filter, ...pace, ...said };
    return this.#start(input, { project, ...jobOptions(options) }, audit);
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
    const { filter } = options;
    rejectUnknownOptions('bulk.cancel filter', filter, ['project', 'pipeline', 'status', 'tag']);
    const { project } = listQueryOf(filter);
    const pace = paceOf(options);
    const about = { filter, ...pace };
    const audit = stampOf(this.#config, 'bulk-cancel', { ...sayingOf(options), about });
    const said = { by: audit.actor, reason: audit.reason };
    const input: JobInput = { act: 'cancel', filter, ...pace, ...said };
    return this.#start(input, { project, ...jobOptions(options) }, audit);
  }

  /**
   * A durable job that gives another release to what is open and pinned to one, where a worker of the new one finds
   * that its history fits. It waits while no worker has that release.
   */
  async move(
    options: BulkMoveOptions,
  ): Promise<{ readonly id: ExecutionId; result(): Promise<JobOutput> }> {
    const names = ['filter', 'to', 'perSecond', 'dryRun', 'by', 'reason', 'key'] as const;
    const given = readOptions('bulk.move', options, names);
    const pace = paceOf(given);
    checkedActing(given);
    const { filter, to, project } = await movable(this.#config, given);
    const audit = stampOf(this.#config, 'bulk-move', {
      ...sayingOf(given),
      about: { filter, to, ...pace },
    });
    const said = { by: audit.actor, reason: audit.reason };
    const input: AnyJobInput = { act: 'move', filter, to, ...pace, ...said };
    return this.#start(input, { project, ...jobOptions(given) }, audit);
  }

  /** What does nothing is no act. */
  #start(input: AnyJobInput, options: SubmitOptions, audit: AuditStamp): ReturnType<SubmitJob> {
    return this.#submit(input, options, input.dryRun ? undefined : audit);
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

function sayingOf({ by, reason }: Acting): Pick<Acting, 'by' | 'reason'> {
  return { ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) };
}

function jobOptions({ key, by }: { readonly key?: string; readonly by?: string }): SubmitOptions {
  return {
    lane: 'batch',
    tags: [JOB_PIPELINE],
    ...(key === undefined ? {} : { key }),
    ...(by === undefined ? {} : { by }),
  };
}
