// What people do about executions that went wrong: look at dead letters, drive them again, one or many, see
// to compensations that fail, cancel many.

import type { EngineConfig } from '../../engine/config.ts';
import { ActRefused } from '../../engine/failures.ts';
import type { Acting, Page } from '../../engine/holdfast.ts';
import { commandOf, listQueryOf, signalOf } from '../../engine/requests.ts';
import { UNDO_ACT, type UndoAct } from '../../engine/run/compensator.ts';
import { projectOf, type SubmitOptions } from '../../engine/submission.ts';
import type { Status } from '../../execution/execution.ts';
import { type ExecutionId, parseExecutionId } from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import type { CommandAnswer } from '../../store/contract/execution-store.ts';
import {
  boundedText,
  optionalBooleans,
  readOptions,
  rejectUnknownOptions,
  wholeNumber,
} from '../../support/options.ts';
import { ACTING, checkedActing, stampOf } from '../audit/api.ts';
import type { AuditStamp } from '../audit/model.ts';
import { reconcileAll } from '../reconcile/duty.ts';
import type { Told } from '../reconcile/model.ts';
import { type AnyJobInput, type BulkMoveOptions, movable } from '../releases/move-api.ts';
import type { RedriveMode } from './decide.ts';
import {
  type DeadLetterFilter,
  FILTERS,
  filterOf,
  JOB_PIPELINE,
  type JobInput,
  type JobOutput,
  modeOf,
  redrive,
  redriveBody,
} from './jobs-api.ts';
import type { DeadLetterGroup, DeadLetterRecord } from './model.ts';
import type { JobItem } from './port.ts';

export interface RedriveOptions extends Acting {
  /** `forward` unless said; `compensate` goes on with undoing. */
  readonly mode?: RedriveMode;
  /** Name or key of the call to begin with; the one that failed unless said. */
  readonly from?: string;
  /** The release that the new one is pinned to; what is active unless said. */
  readonly release?: string;
}

export interface ReconcileOptions {
  /** Finds, and changes nothing. */
  readonly dryRun?: boolean;
  /** How many findings at most. Default 10,000. */
  readonly limit?: number;
}

const PAGE_MAX = 10_000;

export class Repair {
  readonly #config: EngineConfig;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  /** Undefined when the execution left none. */
  async deadLetter(id: string): Promise<DeadLetterRecord | undefined> {
    return this.#executions.deadLetter(parseExecutionId(id));
  }

  /** Newest first. */
  async deadLetters(
    options: DeadLetterFilter & { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<Page<DeadLetterRecord>> {
    rejectUnknownOptions('deadLetters', options, [...FILTERS, 'cursor', 'limit']);
    const { cursor } = options;
    const limit = wholeNumber('limit', options.limit ?? 100, { min: 1, max: PAGE_MAX });
    const query = {
      ...filterOf(options),
      limit,
      ...(cursor === undefined ? {} : { before: parseExecutionId(cursor) }),
    };
    const items = await this.#executions.deadLetters(query);
    const last = items.at(-1);
    return {
      items,
      ...(items.length < limit || last === undefined ? {} : { cursor: last.execution }),
    };
  }

  /** By cause, the most frequent first. */
  deadLetterGroups(
    options: { readonly project?: string; readonly open?: boolean } = {},
  ): Promise<readonly DeadLetterGroup[]> {
    const { open } = options;
    optionalBooleans('deadLetterGroups', { open });
    const project = projectOf(options.project);
    return this.#executions.deadLetterGroups({ project, ...(open === undefined ? {} : { open }) });
  }

  /** A new execution that goes on where this one went wrong; throws ActRefused or RedriveImpossible. */
  async redrive(id: string, options: RedriveOptions = {}): Promise<{ readonly id: ExecutionId }> {
    const names = ['mode', 'from', 'release', 'project', 'by', 'reason'] as const;
    const { mode: asked, from, release, ...acting } = readOptions('redrive', options, names);
    const command = commandOf('redrive', id, acting);
    const mode = modeOf(asked);
    const start = {
      ...(from === undefined ? {} : { from: boundedText('from', from, 512) }),
      ...(release === undefined ? {} : { release: parseReleaseName(release) }),
    };
    const answer = await redrive(this.#config, {
      id: command.id,
      project: command.project,
      mode,
      acting: redriveBody(command.id, command.body),
      ...start,
      audit: stampOf(this.#config, 'redrive', { ...acting, about: { mode, ...start } }),
    });
    if (answer.kind === 'refused') throw new ActRefused(answer);
    return { id: answer.id };
  }

  /** A compensation that cannot be done is left out, for a reason; `step` by its name or key. */
  skipCompensation(
    id: string,
    step: string,
    acting: Acting & { readonly reason: string },
  ): Promise<CommandAnswer> {
    return this.#act(id, { act: 'skip', step }, acting);
  }

  /** Now, and not when its next attempt is due. */
  retryCompensation(id: string, step: string, acting: Acting = {}): Promise<CommandAnswer> {
    return this.#act(id, { act: 'retry', step }, acting);
  }

  /**
   * Looks at all that is stored for what cannot be, now; workers do so all the time. Repairs what is provable,
   * unless `dryRun`; what is left is for people, each with what is wrong and what can be done.
   */
  async reconcile(options: ReconcileOptions = {}): Promise<readonly Told[]> {
    const names = ['dryRun', 'limit'] as const;
    const { dryRun = false, limit = PAGE_MAX } = readOptions('reconcile', options, names);
    optionalBooleans('reconcile', { dryRun });
    return reconcileAll(this.#config, {
      dryRun,
      limit: wholeNumber('limit', limit, { min: 1, max: 1_000_000 }),
    });
  }

  async #act(
    id: string,
    { act, step }: Pick<UndoAct, 'act' | 'step'>,
    acting: Acting,
  ): Promise<CommandAnswer> {
    const given = readOptions(`${act}Compensation`, acting, ACTING);
    const { by, reason = '', project } = given;
    if (act === 'skip') boundedText('The reason to skip', reason, 1_024);
    const value: UndoAct = {
      act,
      step: boundedText('The step', step, 512),
      reason,
      ...(by === undefined ? {} : { by }),
    };
    const audit = stampOf(this.#config, `${act}-compensation`, { ...given, about: { step } });
    const message = { name: UNDO_ACT, value, ...(by && { by }), ...(project && { project }) };
    const signal = await signalOf(this.#config, id, message);
    return this.#executions.signal({ ...signal, audit });
  }

  get #executions(): EngineConfig['store']['executions'] {
    return this.#config.store.executions;
  }
}

// Acts on many executions, each a durable job: re-drive dead letters, cancel what is open.

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
