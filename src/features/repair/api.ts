// Repairs executions that went wrong: lists dead letters, re-drives one or many, handles failing
// compensations, and cancels many.

import type { EngineConfig } from '../../engine/config.ts';
import { OperationRefused } from '../../engine/failures.ts';
import type { ExecutionFilter, OperationOptions, Page } from '../../engine/holdfast.ts';
import { requireId } from '../../engine/named.ts';
import { commandOf, listQueryOf, signalOf } from '../../engine/requests.ts';
import { UNDO_SIGNAL, type UndoCommand } from '../../engine/run/compensator.ts';
import { projectOf, type SubmitOptions } from '../../engine/submission.ts';
import { type ExecutionId, type ProjectName, parseExecutionId } from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import type { CommandResult } from '../../store/contract/execution-store.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  present,
  readOptions,
  rejectUnknownOptions,
} from '../../support/options.ts';
import { filteredPage } from '../../support/page-size.ts';
import { checkedOperation, OPERATION_OPTIONS, stampOf } from '../audit/api.ts';
import type { AuditStamp } from '../audit/model.ts';
import { reconcileAll } from '../reconcile/duty.ts';
import type { StaleFinding } from '../reconcile/model.ts';
import { type AnyJobInput, type BulkRepinOptions, repinTarget } from '../releases/repin-api.ts';
import type { RedriveMode } from './decide.ts';
import {
  type BulkOptions,
  type CountedBy,
  type DeadLetterFilter,
  filterOf,
  isOfDeadLetters,
  JOB_PIPELINE,
  type JobOutput,
  type JobStart,
  LETTER_FILTERS,
  modeOf,
  type Paced,
  type RedriveFilter,
  redriveBody,
  redriveEnded,
} from './jobs-api.ts';
import type { DeadLetterGroup, DeadLetterRecord } from './model.ts';
import type { JobItem } from './port.ts';

/** Options of a re-drive. */
export interface RedriveOptions extends OperationOptions {
  /** `forward` (default): continue the work. `compensate`: continue to undo it. */
  readonly mode?: RedriveMode;
  /** Name or key of the call to start with. Default: the one that failed. */
  readonly from?: string;
  /** The release that the new execution is pinned to. Default: the rollout decides. */
  readonly release?: string;
  /**
   * The input of the new execution. Results of calls before its start stay as they are. Default: the
   * input of the old one.
   */
  readonly input?: unknown;
}

/** Options of `repair.reconcile`. */
export interface ReconcileOptions {
  /** True: report only, change nothing. Default false. */
  readonly dryRun?: boolean;
  /** The most findings, 1 to 1,000,000. Default 10,000. */
  readonly limit?: number;
}

const PAGE_MAX = 10_000;

/**
 * Dead letters, re-drives and compensations. Reach it as `holdfast.repair`.
 *
 * @example
 * const { items } = await holdfast.repair.deadLetters({ pipeline: 'order', open: true });
 * for (const { execution } of items) await holdfast.repair.redrive(execution, { reason: 'fixed' });
 */
export class Repair {
  readonly #config: EngineConfig;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  /** Returns the dead letter of an execution, or undefined if it has none. */
  async deadLetter(id: string): Promise<DeadLetterRecord | undefined> {
    return this.#executions.deadLetter(parseExecutionId(id));
  }

  /**
   * Returns a page of dead letters, newest first. `cursor` is that of the previous page; `limit` is
   * 1 to 10,000 (default 100). With filters, a page may have fewer items than `limit`, or none, and
   * a cursor nevertheless.
   */
  async deadLetters(
    options: DeadLetterFilter & { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<Page<DeadLetterRecord>> {
    rejectUnknownOptions('deadLetters', options, [...LETTER_FILTERS, 'cursor', 'limit']);
    const { cursor } = options;
    const limit = integerOption('limit', options.limit ?? 100, { min: 1, max: PAGE_MAX });
    const query = {
      ...filterOf(options),
      limit,
      ...(cursor === undefined ? {} : { before: parseExecutionId(cursor) }),
    };
    const executions = this.#executions;
    return filteredPage(query, {
      edge: (filters) => executions.deadLettersEdge(filters),
      list: (filters) => executions.deadLetters(filters),
      idOf: ({ execution }) => execution,
    });
  }

  /**
   * Counts the newest 10,000 dead letters by pipeline, code and step, the most frequent first.
   * `open`: only those of them that were not re-driven. `project` defaults to `default`.
   */
  deadLetterGroups(
    options: { readonly project?: string; readonly open?: boolean } = {},
  ): Promise<readonly DeadLetterGroup[]> {
    const { open } = options;
    optionalBooleans('deadLetterGroups', { open });
    const project = projectOf(options.project);
    return this.#executions.deadLetterGroups({ project, ...present({ open }) });
  }

  /**
   * Starts a new execution that continues where a failed one stopped, and returns its `id`.
   *
   * Throws `OperationRefused` if the store refuses it, and `RedriveImpossible` if its history does
   * not allow it.
   */
  async redrive(id: string, options: RedriveOptions = {}): Promise<{ readonly id: ExecutionId }> {
    const names = ['mode', 'from', 'release', 'input', 'project', 'actor', 'reason'] as const;
    const given = readOptions('redrive', options, names);
    const { mode: givenMode, from, release, input, ...operation } = given;
    const command = commandOf('redrive', id, operation);
    const of = await requireId(this.#config, id, operation.project);
    const mode = modeOf(givenMode);
    const start = {
      ...(from === undefined ? {} : { from: boundedText('from', from, 512) }),
      ...(release === undefined ? {} : { release: parseReleaseName(release) }),
    };
    if (input !== undefined && mode === 'compensate') {
      throw new InvalidInput(
        'redrive: the input cannot be edited with mode "compensate", which undoes recorded results. Nothing was written. Leave out the input.',
      );
    }
    const edit = input === undefined ? {} : { inputEdited: true };
    const request = {
      id: of,
      project: command.project,
      mode,
      operation: redriveBody(of, command.body, edit),
      ...start,
      audit: stampOf(this.#config, 'redrive', { ...operation, about: { mode, ...start, ...edit } }),
    };
    const result = await redriveEnded(this.#config, request, input);
    if (result.kind === 'refused') throw new OperationRefused(result);
    return { id: result.id };
  }

  /** Skips a compensation that keeps failing. `step` is its name or key. `reason` is required. */
  skipCompensation(
    id: string,
    step: string,
    operation: OperationOptions & { readonly reason: string },
  ): Promise<CommandResult> {
    return this.#undo(id, { act: 'skip', step }, operation);
  }

  /** Retries a compensation now instead of at its next attempt. `step` is its name or key. */
  retryCompensation(
    id: string,
    step: string,
    operation: OperationOptions = {},
  ): Promise<CommandResult> {
    return this.#undo(id, { act: 'retry', step }, operation);
  }

  /**
   * Checks all stored data against the invariants now, and repairs what it can unless `dryRun`.
   *
   * Workers check in the background as well. Returns all findings.
   */
  async reconcile(options: ReconcileOptions = {}): Promise<readonly StaleFinding[]> {
    const names = ['dryRun', 'limit'] as const;
    const { dryRun = false, limit = PAGE_MAX } = readOptions('reconcile', options, names);
    optionalBooleans('reconcile', { dryRun });
    return reconcileAll(this.#config, {
      dryRun,
      limit: integerOption('limit', limit, { min: 1, max: 1_000_000 }),
    });
  }

  async #undo(
    id: string,
    { act, step }: Pick<UndoCommand, 'act' | 'step'>,
    operation: OperationOptions,
  ): Promise<CommandResult> {
    const given = readOptions(`${act}Compensation`, operation, OPERATION_OPTIONS);
    const { actor, reason = '', project } = given;
    if (act === 'skip') boundedText('The reason to skip', reason, 1_024);
    boundedText('The step', step, 512);
    const value: UndoCommand = { act, step, reason, ...present({ by: actor }) };
    const audit = stampOf(this.#config, `${act}-compensation`, { ...given, about: { step } });
    const message = {
      name: UNDO_SIGNAL,
      value,
      ...(actor && { actor }),
      ...(project && { project }),
    };
    const signal = await signalOf(this.#config, id, message);
    return this.#executions.signal({ ...signal, audit });
  }

  get #executions(): EngineConfig['store']['executions'] {
    return this.#config.store.executions;
  }
}

// Bulk operations, each a durable job: re-drive dead letters, cancel open executions.

/** Options of a job that re-drives dead letters. */
export interface BulkRedriveOptions
  extends BulkOptions,
    CountedBy,
    Pick<RedriveOptions, 'mode' | 'release'> {
  /**
   * Which dead letters, or which executions: then `step` and `open` do not apply, and without
   * `status` the job takes those that failed or were quarantined. Default: all dead letters of the
   * project `default`.
   */
  readonly filter?: RedriveFilter;
}

/** Options of a job that cancels executions. */
export interface BulkCancelOptions extends BulkOptions, CountedBy {
  /** Which executions. Without `status`, all open ones. */
  readonly filter: ExecutionFilter;
}

/** A job that was submitted. Pause, resume and cancel it like any execution. */
interface StartedJob {
  /** The id of the job's execution. */
  readonly id: ExecutionId;
  /** Waits for the job's counts. Throws `ExecutionFailed` if the job does not complete. */
  result(): Promise<JobOutput>;
}

/** Submits a job through the engine's own `submit`. */
type SubmitJob = (
  input: AnyJobInput,
  options: SubmitOptions,
  audit: AuditStamp | undefined,
) => Promise<StartedJob>;

/**
 * Operations on many executions, each a durable job. Reach it as `holdfast.bulk`.
 *
 * @example
 * const job = await holdfast.bulk.redrive({ filter: { pipeline: 'order' }, perSecond: 20, reason: 'fixed' });
 * console.log((await job.result()).outcomes);
 */
export class Bulk {
  readonly #config: EngineConfig;
  readonly #submit: SubmitJob;

  constructor(config: EngineConfig, submit: SubmitJob) {
    this.#config = config;
    this.#submit = submit;
  }

  /** Starts a job that re-drives dead letters. */
  async redrive(options: BulkRedriveOptions = {}): Promise<StartedJob> {
    rejectUnknownOptions('bulk.redrive', options, ['filter', 'mode', 'countedBy', ...JOB_NAMES]);
    const { filter = {} } = options;
    const { project } = isOfDeadLetters(filter) ? filterOf(filter) : listQueryOf(filter);
    const mode = modeOf(options.mode);
    const counted = await this.#counted(project, options);
    return this.#start({ act: 'redrive', filter, mode, ...counted }, project, options);
  }

  /** Starts a job that cancels open executions. */
  async cancel(options: BulkCancelOptions): Promise<StartedJob> {
    rejectUnknownOptions('bulk.cancel', options, ['filter', 'countedBy', ...JOB_NAMES]);
    const { filter } = options;
    const { project } = listQueryOf(filter);
    const counted = await this.#counted(project, options);
    return this.#start({ act: 'cancel', filter, ...counted }, project, options);
  }

  /**
   * Starts a job that repins open executions to another release, if a worker of that release can
   * replay them.
   *
   * The job waits while no worker has the release. Throws `ReleaseRefused` if the release does not
   * exist or was retired.
   */
  async repin(options: BulkRepinOptions): Promise<StartedJob> {
    const given = readOptions('bulk.repin', options, ['filter', 'to', ...JOB_NAMES]);
    paceOf(given);
    checkedOperation(given);
    const { project, ...target } = await repinTarget(this.#config, given);
    return this.#start({ act: 'move', ...target }, project, given);
  }

  async #counted(
    project: ProjectName,
    { countedBy }: CountedBy,
  ): Promise<{ readonly counted?: JobStart }> {
    if (countedBy === undefined) return {};
    const id = parseExecutionId(countedBy);
    const dryRun = await this.#config.store.executions.read(id);
    if (dryRun?.project !== project || dryRun.pipeline !== JOB_PIPELINE) {
      throw new OperationRefused({ why: 'execution-unknown', id });
    }
    return { counted: { id, asOf: dryRun.submittedAt } };
  }

  #start(
    { act, ...about }: Target<AnyJobInput>,
    project: ProjectName,
    options: BulkOptions,
  ): Promise<StartedJob> {
    const { key, actor, reason } = options;
    const paced = { ...about, ...paceOf(options) };
    const operation = { ...present({ actor, reason }), about: paced };
    const audit = stampOf(this.#config, act === 'move' ? 'bulk-repin' : `bulk-${act}`, operation);
    const input = { act, ...paced, by: audit.actor, reason: audit.reason } as AnyJobInput;
    const placing: SubmitOptions = {
      lane: 'batch',
      tags: [JOB_PIPELINE],
      ...present({ key, actor }),
    };
    // A dry run changes nothing, so it has no audit record.
    return this.#submit(input, { project, ...placing }, input.dryRun ? undefined : audit);
  }

  /**
   * Returns the outcome of each item of a job, by execution id, after `after`. `limit` is 1 to
   * 10,000 (default 1,000).
   */
  items(
    job: string,
    page: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly JobItem[]> {
    const { after } = page;
    return this.#config.store.executions.jobItems({
      job: parseExecutionId(job),
      limit: integerOption('limit', page.limit ?? 1_000, { min: 1, max: PAGE_MAX }),
      ...(after === undefined ? {} : { after: parseExecutionId(after) }),
    });
  }
}

const JOB_NAMES = ['perSecond', 'dryRun', 'actor', 'reason', 'key'] as const;

/** The operation of a job, and its targets. */
type Target<Input> = Input extends AnyJobInput ? Omit<Input, keyof Paced> : never;

function paceOf({ perSecond, dryRun }: Partial<Paced>): Pick<Paced, 'perSecond' | 'dryRun'> {
  if (perSecond !== undefined) integerOption('perSecond', perSecond, { min: 1, max: 1_000_000 });
  return { dryRun: dryRun === true, ...present({ perSecond }) };
}
