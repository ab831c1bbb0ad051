// Repairs executions that went wrong: lists dead letters, re-drives one or many, handles failing
// compensations, and cancels many.

import type { EngineConfig } from '../../engine/config.ts';
import { ActRefused } from '../../engine/failures.ts';
import type { Acting, Page } from '../../engine/holdfast.ts';
import { commandOf, listQueryOf, signalOf } from '../../engine/requests.ts';
import { UNDO_ACT, type UndoAct } from '../../engine/run/compensator.ts';
import { projectOf, type SubmitOptions } from '../../engine/submission.ts';
import { type ExecutionId, type ProjectName, parseExecutionId } from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import type { CommandResult } from '../../store/contract/execution-store.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  present,
  readOptions,
  rejectUnknownOptions,
} from '../../support/options.ts';
import { cursorPage } from '../../support/page-size.ts';
import { ACTING, checkedActing, stampOf } from '../audit/api.ts';
import type { AuditStamp } from '../audit/model.ts';
import { reconcileAll } from '../reconcile/duty.ts';
import type { StaleFinding } from '../reconcile/model.ts';
import { type AnyJobInput, type BulkRepinOptions, repinTarget } from '../releases/repin-api.ts';
import type { RedriveMode } from './decide.ts';
import {
  type BulkOptions,
  type CancelFilter,
  type DeadLetterFilter,
  FILTERS,
  filterOf,
  JOB_PIPELINE,
  type JobOutput,
  modeOf,
  type Paced,
  redriveBody,
  redriveEnded,
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
    const limit = integerOption('limit', options.limit ?? 100, { min: 1, max: PAGE_MAX });
    const query = {
      ...filterOf(options),
      limit,
      ...(cursor === undefined ? {} : { before: parseExecutionId(cursor) }),
    };
    const items = await this.#executions.deadLetters(query);
    return cursorPage(items, query, ({ execution }) => execution);
  }

  /** By cause, the most frequent first. */
  deadLetterGroups(
    options: { readonly project?: string; readonly open?: boolean } = {},
  ): Promise<readonly DeadLetterGroup[]> {
    const { open } = options;
    optionalBooleans('deadLetterGroups', { open });
    const project = projectOf(options.project);
    return this.#executions.deadLetterGroups({ project, ...present({ open }) });
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
    const result = await redriveEnded(this.#config, {
      id: command.id,
      project: command.project,
      mode,
      acting: redriveBody(command.id, command.body),
      ...start,
      audit: stampOf(this.#config, 'redrive', { ...acting, about: { mode, ...start } }),
    });
    if (result.kind === 'refused') throw new ActRefused(result);
    return { id: result.id };
  }

  /** A compensation that cannot be done is left out, for a reason; `step` by its name or key. */
  skipCompensation(
    id: string,
    step: string,
    acting: Acting & { readonly reason: string },
  ): Promise<CommandResult> {
    return this.#act(id, { act: 'skip', step }, acting);
  }

  /** Now, and not when its next attempt is due. */
  retryCompensation(id: string, step: string, acting: Acting = {}): Promise<CommandResult> {
    return this.#act(id, { act: 'retry', step }, acting);
  }

  /**
   * Looks at all that is stored for what cannot be, now; workers do so all the time. Repairs what is provable,
   * unless `dryRun`; what is left is for people, each with what is wrong and what can be done.
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

  async #act(
    id: string,
    { act, step }: Pick<UndoAct, 'act' | 'step'>,
    acting: Acting,
  ): Promise<CommandResult> {
    const given = readOptions(`${act}Compensation`, acting, ACTING);
    const { by, reason = '', project } = given;
    if (act === 'skip') boundedText('The reason to skip', reason, 1_024);
    boundedText('The step', step, 512);
    const value: UndoAct = { act, step, reason, ...present({ by }) };
    const audit = stampOf(this.#config, `${act}-compensation`, { ...given, about: { step } });
    const message = { name: UNDO_ACT, value, ...(by && { by }), ...(project && { project }) };
    const signal = await signalOf(this.#config, id, message);
    return this.#executions.signal({ ...signal, audit });
  }

  get #executions(): EngineConfig['store']['executions'] {
    return this.#config.store.executions;
  }
}

// Bulk operations, each a durable job: re-drive dead letters, cancel open executions.

export interface BulkRedriveOptions extends BulkOptions, Pick<RedriveOptions, 'mode' | 'release'> {
  readonly filter?: DeadLetterFilter;
}

export interface BulkCancelOptions extends BulkOptions {
  readonly filter: CancelFilter;
}

interface StartedJob {
  readonly id: ExecutionId;
  result(): Promise<JobOutput>;
}

/** Submits a job through the engine's own `submit`. */
type SubmitJob = (
  input: AnyJobInput,
  options: SubmitOptions,
  audit: AuditStamp | undefined,
) => Promise<StartedJob>;

export class Bulk {
  readonly #config: EngineConfig;
  readonly #submit: SubmitJob;

  constructor(config: EngineConfig, submit: SubmitJob) {
    this.#config = config;
    this.#submit = submit;
  }

  /** A durable job over dead letters: pause, resume and cancel it like any execution. */
  async redrive(options: BulkRedriveOptions = {}): Promise<StartedJob> {
    rejectUnknownOptions('bulk.redrive', options, ['filter', 'mode', ...JOB_NAMES]);
    const { filter = {} } = options;
    rejectUnknownOptions('bulk.redrive filter', filter, FILTERS);
    const { project } = filterOf(filter);
    return this.#start({ act: 'redrive', filter, mode: modeOf(options.mode) }, project, options);
  }

  /** A durable job that cancels what is open. */
  async cancel(options: BulkCancelOptions): Promise<StartedJob> {
    rejectUnknownOptions('bulk.cancel', options, ['filter', ...JOB_NAMES]);
    const { filter } = options;
    rejectUnknownOptions('bulk.cancel filter', filter, ['project', 'pipeline', 'status', 'tag']);
    return this.#start({ act: 'cancel', filter }, listQueryOf(filter).project, options);
  }

  /**
   * A durable job that gives another release to what is open and pinned to one, where a worker of the new one finds
   * that its history fits. It waits while no worker has that release.
   */
  async repin(options: BulkRepinOptions): Promise<StartedJob> {
    const given = readOptions('bulk.repin', options, ['filter', 'to', ...JOB_NAMES]);
    paceOf(given);
    checkedActing(given);
    const { project, ...target } = await repinTarget(this.#config, given);
    return this.#start({ act: 'move', ...target }, project, given);
  }

  #start(
    { act, ...about }: Target<AnyJobInput>,
    project: ProjectName,
    options: BulkOptions,
  ): Promise<StartedJob> {
    const { key, by, reason } = options;
    const paced = { ...about, ...paceOf(options) };
    const acting = { ...present({ by, reason }), about: paced };
    const audit = stampOf(this.#config, act === 'move' ? 'bulk-repin' : `bulk-${act}`, acting);
    const input = { act, ...paced, by: audit.actor, reason: audit.reason } as AnyJobInput;
    const placing: SubmitOptions = { lane: 'batch', tags: [JOB_PIPELINE], ...present({ key, by }) };
    // A dry run changes nothing, so it has no audit record.
    return this.#submit(input, { project, ...placing }, input.dryRun ? undefined : audit);
  }

  /** What became of each item of a job, by target. */
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

const JOB_NAMES = ['perSecond', 'dryRun', 'by', 'reason', 'key'] as const;

/** The operation of a job, and its targets. */
type Target<Input> = Input extends AnyJobInput ? Omit<Input, keyof Paced> : never;

function paceOf({ perSecond, dryRun }: Partial<Paced>): Pick<Paced, 'perSecond' | 'dryRun'> {
  if (perSecond !== undefined) integerOption('perSecond', perSecond, { min: 1, max: 1_000_000 });
  return { dryRun: dryRun === true, ...present({ perSecond }) };
}
