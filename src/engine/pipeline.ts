// A pipeline is a name and a plain async function. Holdfast never bundles or sandboxes it.

import { type PipelineName, parsePipelineName } from '../execution/names.ts';
import { type AnyQuestion, checkQuestions } from '../features/awaits/question-api.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  integerOption,
  optionalFunctions,
  readList,
  readOptions,
  requireFunction,
  shown,
} from '../support/options.ts';
import type { Context, RetryOptions, StepContext } from './context.ts';
import { resolveRetry } from './retry-options.ts';
import { requireSchema, type Schema } from './values/schema.ts';

/**
 * When results become durable. `every-step`: each result before the next step starts; at most what was running is
 * run again after a crash. The others save commits: after a crash up to `steps` steps, or the steps of
 * the last `ms` milliseconds, or all since the last `ctx.checkpoint`, are run again.
 */
export type CheckpointPolicy =
  | { readonly every: 'step' }
  | { readonly every: 'steps'; readonly steps: number }
  | { readonly every: 'time'; readonly ms: number }
  | { readonly every: 'manual' };

export interface PipelineOptions<Input, Output> {
  readonly name: string;
  readonly input?: Schema<Input>;
  readonly output?: Schema<Output>;
  /** The questions that it awaits, where answers are checked or projected. */
  readonly awaits?: readonly AnyQuestion[];
  /** The remote steps that it calls with `ctx.call`, for its contract. */
  readonly remoteSteps?: readonly AnyRemoteStep[];
  /** For steps that do not say otherwise. */
  readonly retry?: RetryOptions;
  readonly checkpoint?: CheckpointPolicy;
  /** Checks a state given to `ctx.checkpoint`; throw to refuse it. */
  readonly validateCheckpoint?: (state: unknown) => void;
  /**
   * Whether an error that `run` throws is a bug: then the execution is blocked, not failed, and nothing is undone.
   * By default every `TypeError` and `ReferenceError` is. It is not asked about rejections of `ctx` calls.
   */
  readonly isBug?: (error: unknown) => boolean;
  run(ctx: Context, input: Input): Promise<Output> | Output;
}

export interface Pipeline<Input, Output> extends Omit<PipelineOptions<Input, Output>, 'name'> {
  readonly name: PipelineName;
  readonly checkpoint: CheckpointPolicy;
}

export type AnyPipeline = Pipeline<unknown, unknown>;

const NAMES: readonly (keyof PipelineOptions<unknown, unknown>)[] = [
  'name',
  'input',
  'output',
  'awaits',
  'remoteSteps',
  'retry',
  'checkpoint',
  'validateCheckpoint',
  'isBug',
  'run',
];

const EVERY_STEP: CheckpointPolicy = Object.freeze({ every: 'step' });

/** The pipelines that this copy of the package created. */
const made: WeakSet<object> = new WeakSet();

export function pipeline<Input = unknown, Output = unknown>(
  options: PipelineOptions<Input, Output>,
): Pipeline<Input, Output> {
  const given = readOptions('pipeline', options, NAMES);
  const { run, retry, checkpoint = EVERY_STEP, validateCheckpoint, isBug } = given;
  if (typeof run !== 'function') {
    throw new InvalidInput(
      `pipeline: run must be a function (ctx, input) => output; got ${shown(run)}.`,
    );
  }
  for (const name of ['input', 'output'] as const) {
    requireSchema(`pipeline: ${name}`, given[name]);
  }
  resolveRetry(retry);
  optionalFunctions('pipeline', { validateCheckpoint, isBug });
  if (given.awaits !== undefined) checkQuestions(given.awaits);
  if (given.remoteSteps !== undefined) checkRemoteSteps(given.remoteSteps);
  const name = parsePipelineName(given.name);
  const result = Object.freeze({ ...given, name, checkpoint: checkedPolicy(checkpoint) });
  made.add(result);
  return result;
}

/**
 * Accepts a pipeline that `pipeline` created. Another copy of this package may have created it;
 * this function then checks it again.
 */
export function asPipeline(value: unknown): AnyPipeline | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (made.has(value)) return value as AnyPipeline;
  try {
    const like = value as AnyPipeline;
    return Object.isFrozen(like) && 'checkpoint' in like ? pipeline(like) : undefined;
  } catch {
    return undefined;
  }
}

/** The target of a submit or spawn: a pipeline, or a pipeline's name. */
export function pipelineOf(what: string, given: unknown): Pick<AnyPipeline, 'name' | 'input'> {
  if (typeof given === 'string') return { name: parsePipelineName(given) };
  const known = asPipeline(given);
  if (known !== undefined) return known;
  throw new InvalidInput(
    `${what}: pipeline is one made by pipeline({ name, run }), or the name of one; got ${shown(given)}.`,
  );
}

export function questionOf(pipeline: AnyPipeline, name: string): AnyQuestion | undefined {
  return pipeline.awaits?.find((each) => each.name === name);
}

/** Rejects two remote steps of one name. */
function checkRemoteSteps(steps: unknown): void {
  const names = new Set<string>();
  for (const step of readList('pipeline: remoteSteps', steps)) {
    requireRemoteStep('pipeline: remoteSteps', step);
    const { name } = step;
    if (names.has(name)) throw new InvalidInput(`pipeline: two remote steps are called "${name}".`);
    names.add(name);
  }
}

function checkedPolicy(given: CheckpointPolicy): CheckpointPolicy {
  if (given === EVERY_STEP) return EVERY_STEP;
  const policy = readOptions('checkpoint', given, ['every', 'steps', 'ms']);
  switch (policy.every) {
    case 'step':
    case 'manual':
      break;
    case 'steps':
      integerOption('checkpoint.steps', policy.steps, { min: 1, max: 1_000_000 });
      break;
    case 'time':
      integerOption('checkpoint.ms', policy.ms, { min: 1, max: 86_400_000 });
      break;
    default:
      throw new InvalidInput(
        `checkpoint.every must be "step", "steps", "time" or "manual"; got ${shown((policy as { every: unknown }).every)}.`,
      );
  }
  return Object.freeze(policy);
}

// The pipelines whose code is in this process: those of its workers, and those in the options of
// `openHoldfast`.

// biome-ignore lint/suspicious/noExplicitAny: pipelines of any input and output, in one list
export type Pipelines = readonly Pipeline<any, any>[];

export class KnownPipelines {
  readonly #byName: Map<PipelineName, AnyPipeline>;

  constructor(pipelines: Pipelines = []) {
    this.#byName = new Map(pipelinesByName('openHoldfast', pipelines));
  }

  /** Replaces an earlier pipeline of the same name. */
  add(pipelines: ReadonlyMap<PipelineName, AnyPipeline>): void {
    for (const [name, pipeline] of pipelines) this.#byName.set(name, pipeline);
  }

  get(name: PipelineName): AnyPipeline | undefined {
    return this.#byName.get(name);
  }
}

export function pipelinesByName(
  what: string,
  pipelines: unknown,
): ReadonlyMap<PipelineName, AnyPipeline> {
  const byName = new Map<PipelineName, AnyPipeline>();
  for (const each of readList(`${what}: pipelines`, pipelines)) {
    const pipeline = asPipeline(each);
    if (pipeline === undefined) {
      throw new InvalidInput(`${what}: each of pipelines is made by pipeline({ name, run }).`);
    }
    if (byName.has(pipeline.name)) {
      throw new InvalidInput(`${what}: two of pipelines are called "${pipeline.name}".`);
    }
    byName.set(pipeline.name, pipeline);
  }
  return byName;
}

// A step that another worker runs: its name, its input and its output, without its code. Each call
// of it is a child with one step. Any worker that announces the name can claim that child, over any
// transport and in any language. Retries, fences and takeovers work as for every execution.

export interface RemoteStepOptions<Input, Output> {
  readonly name: string;
  readonly input?: Schema<Input>;
  readonly output?: Schema<Output>;
}

export interface RemoteStep<Input, Output> {
  readonly name: PipelineName;
  readonly input?: Schema<Input>;
  readonly output?: Schema<Output>;
}

export type AnyRemoteStep = RemoteStep<unknown, unknown>;

const remoteSteps: WeakSet<object> = new WeakSet();

/** Known to both sides: who calls it with `ctx.call`, and who hosts it with `hostStep`. */
export function remoteStep<Input = unknown, Output = unknown>(
  options: RemoteStepOptions<Input, Output>,
): RemoteStep<Input, Output> {
  const given = readOptions('remoteStep', options, ['name', 'input', 'output']);
  requireSchema('remoteStep: input', given.input);
  requireSchema('remoteStep: output', given.output);
  const step = Object.freeze({ ...given, name: parsePipelineName(given.name) });
  remoteSteps.add(step);
  return step;
}

export function requireRemoteStep(what: string, value: unknown): asserts value is AnyRemoteStep {
  if (typeof value === 'object' && value !== null && remoteSteps.has(value)) return;
  throw new InvalidInput(
    `${what}: step is one made by remoteStep({ name }); got ${shown(value)}. For a pipeline use ctx.spawn.`,
  );
}

// The worker's side of a remote step: its code, as a pipeline of one step.

export interface HostOptions {
  readonly retry?: RetryOptions;
  /** How long one attempt may take. By default there is no limit. */
  readonly timeoutMs?: number;
}

/** The code of a remote step, for the worker that has it: put it among its pipelines. */
export function hostStep<Input, Output>(
  step: RemoteStep<Input, Output>,
  run: (input: Input, step: StepContext) => Output | Promise<Output>,
  options: HostOptions = {},
): Pipeline<Input, Output> {
  requireRemoteStep('hostStep', step);
  requireFunction('hostStep: run', run);
  const given = readOptions('hostStep', options, ['retry', 'timeoutMs']);
  resolveRetry(given.retry);
  if (given.timeoutMs !== undefined) {
    integerOption('hostStep: timeoutMs', given.timeoutMs, { min: 1, max: 2 ** 31 - 1 });
  }
  return pipeline<Input, Output>({
    ...step,
    run: (ctx, input) => ctx.step(step.name, (attempt) => run(input, attempt), given),
  });
}
