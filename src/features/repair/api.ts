// What people do about executions that went wrong: look at dead letters, drive them again, one or many, see
// to compensations that fail, cancel many.

import type { EngineConfig } from '../../engine/config.ts';
import { ActRefused } from '../../engine/failures.ts';
import type { Acting, Page } from '../../engine/holdfast.ts';
import { commandOf, signalOf } from '../../engine/requests.ts';
import { UNDO_ACT, type UndoAct } from '../../engine/run/compensator.ts';
import { projectOf } from '../../engine/submission.ts';
import { type ExecutionId, parseExecutionId, parsePipelineName } from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import type { CommandAnswer } from '../../store/contract/execution-store.ts';
import {
  boundedText,
  optionalBooleans,
  readOptions,
  rejectUnknownOptions,
  wholeNumber,
} from '../../support/options.ts';
import { ACTING, stampOf } from '../audit/api.ts';
import { reconcileAll } from '../reconcile/duty.ts';
import type { Told } from '../reconcile/model.ts';
import type { DeadLetterGroup, DeadLetterRecord } from './model.ts';
import type { RedriveMode } from './plan-decide.ts';
import type { ListDeadLetters } from './port.ts';
import { modeOf, redrive, redriveBody } from './redriving-api.ts';

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

// What callers ask of dead letters, checked and turned into a query.

export interface DeadLetterFilter {
  readonly project?: string;
  readonly pipeline?: string;
  readonly code?: string;
  readonly step?: string;
  /** Only those that were not driven again. */
  readonly open?: boolean;
}

export const FILTERS = ['project', 'pipeline', 'code', 'step', 'open'] as const;

export function filterOf(filter: DeadLetterFilter): Omit<ListDeadLetters, 'limit' | 'before'> {
  const { project, pipeline, code, step, open } = filter;
  return {
    project: projectOf(project),
    ...(pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) }),
    ...(code === undefined ? {} : { code: boundedText('code', code, 256) }),
    ...(step === undefined ? {} : { step: boundedText('step', step, 512) }),
    ...(open === undefined ? {} : { open }),
  };
}
