// A pipeline is a name and a plain async function. Holdfast never bundles or sandboxes it.

import { IF_KEY_TAKEN, type IfKeyTaken } from '../execution/decide/submit.ts';
import { type PipelineName, parsePipelineName } from '../execution/names.ts';
import { type AnyQuestion, checkQuestions } from '../features/awaits/question-api.ts';
import { NAME_BYTES_MAX } from '../lease/names.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  optionalFunctions,
  readEntries,
  readList,
  readOptions,
  requireFunction,
  requireOneOf,
  shown,
  wordsIn,
} from '../support/options.ts';
import type { Context, RetryOptions, StepContext } from './context.ts';
import { resolveRetry } from './retry-options.ts';
import { requireSchema, type Schema } from './values/schema.ts';

/**
 * When results of steps become durable.
 *
 * - `step`: each result before the next call of `ctx` begins. After a crash only steps that were
 * running run again, and one whose result was not written yet. Your code gets the result of a step
 * that runs alone while it is being written. With `runAhead: false`, it gets each result after it
 * is durable.
 * - `steps`: after every `steps` steps (1 to 1,000,000). After a crash, up to that many run again.
 * - `time`: after every `ms` milliseconds (1 to one day). After a crash, the steps of that time run
 *   again.
 * - `manual`: only with `ctx.checkpoint` and waits. After a crash, all steps since then run again.
 */
export type CheckpointPolicy =
  | {
      readonly every: 'step';
      /** False: the code gets every result after it is durable. Default true. */
      readonly runAhead?: boolean;
    }
  | { readonly every: 'steps'; readonly steps: number }
  | { readonly every: 'time'; readonly ms: number }
  | { readonly every: 'manual' };

/** A pipeline's name, code and settings. */
export interface PipelineOptions<Input, Output> {
  /** The name that submissions use. At most 256 bytes. */
  readonly name: string;
  /** A Standard Schema (zod, valibot, arktype). `submit` and the worker check inputs with it. */
  readonly input?: Schema<Input>;
  /** A Standard Schema that checks the result of `run`. */
  readonly output?: Schema<Output>;
  /** Questions that the code awaits. Required for questions with a schema or a projector. */
  readonly awaits?: readonly AnyQuestion[];
  /**
   * Remote steps that the code calls with `ctx.call`. They become part of the pipeline's contract.
   */
  readonly remoteSteps?: readonly AnyRemoteStep[];
  /**
   * Standard Schemas of signals and updates, by name. Senders that have the code check them before
   * they write, and workers before the code gets them.
   */
  readonly messages?: Readonly<Record<string, Schema>>;
  /** The names that the code passes to `ctx.onQuery`. Default none. */
  readonly queries?: readonly string[];
  /** Retries of steps without `retry` of their own. Default `DEFAULT_RETRY`. */
  readonly retry?: RetryOptions;
  /**
   * Retries of the whole execution, when `run` throws: it runs again with all recorded results, and
   * a step that failed for good begins anew. Steps are undone only after the last attempt. Bugs,
   * cancels and permanent failures are not retried. Default: none.
   */
  readonly executionRetry?: RetryOptions;
  /**
   * The `ifKeyTaken` of submits that have a key and no `ifKeyTaken` of their own. It applies where
   * the submitting process has this pipeline. Default `join`.
   */
  readonly ifKeyTaken?: IfKeyTaken;
  /** When results become durable. Default `{ every: 'step' }`. */
  readonly checkpoint?: CheckpointPolicy;
  /** Checks each state given to `ctx.checkpoint`. Throw to reject it. */
  readonly validateCheckpoint?: (state: unknown) => void;
  /**
   * Returns true if an error thrown by `run` is a programming error. Then the execution is blocked,
   * not failed, and nothing is undone. By default these are: every `TypeError`, every
   * `ReferenceError`, and the `InvalidInput` of a `ctx` call with an invalid argument.
   */
  readonly isBug?: (error: unknown) => boolean;
  /**
   * The code. It runs again from its beginning after a crash or a wait; recorded calls of `ctx`
   * return their results.
   */
  run(ctx: Context, input: Input): Promise<Output> | Output;
}

/**
 * A pipeline that `pipeline` has made. Pass it to `worker`, `submit` and `ctx.spawn`.
 *
 * @example
 * const greet: Pipeline<string, string> = pipeline({
 *   name: 'greet',
 *   run: (_ctx, name: string) => `Hello, ${name}`,
 * });
 */
export interface Pipeline<Input, Output> extends Omit<PipelineOptions<Input, Output>, 'name'> {
  /** The name that submissions use. */
  readonly name: PipelineName;
  /** When results become durable. */
  readonly checkpoint: CheckpointPolicy;
}

export type AnyPipeline = Pipeline<unknown, unknown>;

const NAMES: readonly (keyof PipelineOptions<unknown, unknown>)[] = wordsIn(
  'name input output awaits remoteSteps messages queries retry executionRetry ifKeyTaken checkpoint validateCheckpoint isBug run',
);

const EVERY_STEP: CheckpointPolicy = Object.freeze({ every: 'step' });

/** The pipelines that this copy of the package created. */
const made: WeakSet<object> = new WeakSet();

/**
 * Defines a pipeline: a name and an async function whose calls of `ctx` are durable.
 *
 * Throws `InvalidInput` if an option is unknown or invalid.
 *
 * @example
 * const order = pipeline({
 *   name: 'order',
 *   run: async (ctx, input: { item: string }) => {
 *     const id = await ctx.step('charge', (step) => charge(input.item, step.idempotencyKey));
 *     await ctx.step('ship', () => ship(input.item));
 *     return id;
 *   },
 * });
 */
export function pipeline<Input = unknown, Output = unknown>(
  options: PipelineOptions<Input, Output>,
): Pipeline<Input, Output> {
  const given = readOptions('pipeline', options, NAMES);
  const { run, retry, checkpoint = EVERY_STEP, validateCheckpoint, isBug } = given;
  const { messages = {}, queries = [], executionRetry, ifKeyTaken } = given;
  if (typeof run !== 'function') {
    throw new InvalidInput(
      `pipeline: run must be a function (ctx, input) => output; got ${shown(run)}.`,
    );
  }
  for (const name of ['input', 'output'] as const) {
    requireSchema(`pipeline: ${name}`, given[name]);
  }
  for (const [name, schema] of readEntries('pipeline: messages', messages)) {
    requireSchema(`pipeline: messages["${name}"]`, schema);
  }
  for (const each of readList('pipeline: queries', queries)) {
    boundedText('pipeline: queries: a name', each, NAME_BYTES_MAX);
  }
  resolveRetry(retry);
  resolveRetry(executionRetry, 'executionRetry');
  if (ifKeyTaken !== undefined) requireOneOf('pipeline: ifKeyTaken', ifKeyTaken, IF_KEY_TAKEN);
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
    `${what}: pipeline must be the result of pipeline({ name, run }), or its name; got ${shown(given)}.`,
  );
}

export function questionOf(pipeline: AnyPipeline, name: string): AnyQuestion | undefined {
  return pipeline.awaits?.find((each) => each.name === name);
}

/** The schema of signals and updates of this name. */
export function messageSchema(pipeline: AnyPipeline | undefined, name: string): Schema | undefined {
  const { messages } = pipeline ?? {};
  return messages !== undefined && Object.hasOwn(messages, name) ? messages[name] : undefined;
}

/** Rejects two remote steps of one name. */
function checkRemoteSteps(steps: unknown): void {
  const names = new Set<string>();
  for (const step of readList('pipeline: remoteSteps', steps)) {
    requireRemoteStep('pipeline: remoteSteps', step);
    const { name } = step;
    if (names.has(name))
      throw new InvalidInput(`pipeline: two remote steps have the name "${name}". Rename one.`);
    names.add(name);
  }
}

function checkedPolicy(given: CheckpointPolicy): CheckpointPolicy {
  if (given === EVERY_STEP) return EVERY_STEP;
  const policy = readOptions('checkpoint', given, ['every', 'steps', 'ms', 'runAhead']);
  switch (policy.every) {
    case 'step':
      optionalBooleans('checkpoint', { runAhead: policy.runAhead });
      break;
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

  /** True if some pipeline has a schema for messages of this name. */
  hasMessage(name: string): boolean {
    return [...this.#byName.values()].some((each) => messageSchema(each, name) !== undefined);
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
      throw new InvalidInput(
        `${what}: each of pipelines must be the result of pipeline({ name, run }).`,
      );
    }
    if (byName.has(pipeline.name)) {
      throw new InvalidInput(
        `${what}: two of pipelines have the name "${pipeline.name}". Rename one.`,
      );
    }
    byName.set(pipeline.name, pipeline);
  }
  return byName;
}

// A step that another worker runs: its name, its input and its output, without its code. Each call
// of it is a child with one step. Any worker that announces the name can claim that child, over any
// transport and in any language. Retries, fences and takeovers work as for every execution.

/** Name and schemas of a remote step. */
export interface RemoteStepOptions<Input, Output> {
  /** The name under which a worker hosts the step. At most 256 bytes. */
  readonly name: string;
  /** A Standard Schema that checks the input. */
  readonly input?: Schema<Input>;
  /** A Standard Schema that checks the output. */
  readonly output?: Schema<Output>;
}

/** A step whose code another worker hosts. `remoteStep` makes it. */
export interface RemoteStep<Input, Output> {
  /** The name under which a worker hosts the step. */
  readonly name: PipelineName;
  /** A Standard Schema that checks the input. */
  readonly input?: Schema<Input>;
  /** A Standard Schema that checks the output. */
  readonly output?: Schema<Output>;
}

export type AnyRemoteStep = RemoteStep<unknown, unknown>;

const remoteSteps: WeakSet<object> = new WeakSet();

/**
 * Declares a step that one worker calls with `ctx.call` and another hosts with `hostStep`.
 *
 * Throws `InvalidInput` if the name or a schema is invalid.
 *
 * @example
 * const thumbnail = remoteStep<string, string>({ name: 'thumbnail' });
 */
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
    `${what}: step must be the result of remoteStep({ name }); got ${shown(value)}. For a pipeline use ctx.spawn.`,
  );
}

// The worker's side of a remote step: its code, as a pipeline of one step.

const HOST_OPTIONS: readonly (keyof HostOptions)[] = ['retry', 'timeoutMs', 'heartbeatTimeoutMs'];

/** Options of a hosted step. */
export interface HostOptions {
  /** How failed attempts are retried. Default `DEFAULT_RETRY`. */
  readonly retry?: RetryOptions;
  /** Time limit of one attempt in milliseconds. By default there is none. */
  readonly timeoutMs?: number;
  /** The longest silence of an attempt in milliseconds. By default there is no limit. */
  readonly heartbeatTimeoutMs?: number;
}

/**
 * Makes a pipeline from the code of a remote step. Pass it to the worker that has the code.
 *
 * Throws `InvalidInput` if `step` was not made by `remoteStep`, or an option is invalid.
 *
 * @example
 * const thumbnail = remoteStep<string, string>({ name: 'thumbnail' });
 * await holdfast.worker({ pipelines: [hostStep(thumbnail, (file) => resize(file))] });
 */
export function hostStep<Input, Output>(
  step: RemoteStep<Input, Output>,
  run: (input: Input, step: StepContext) => Output | Promise<Output>,
  options: HostOptions = {},
): Pipeline<Input, Output> {
  requireRemoteStep('hostStep', step);
  requireFunction('hostStep: run', run);
  const given = readOptions('hostStep', options, HOST_OPTIONS);
  resolveRetry(given.retry);
  for (const name of ['timeoutMs', 'heartbeatTimeoutMs'] as const) {
    const ms = given[name];
    if (ms !== undefined) integerOption(`hostStep: ${name}`, ms, { min: 1, max: 2 ** 31 - 1 });
  }
  return pipeline<Input, Output>({
    ...step,
    run: (ctx, input) => ctx.step(step.name, (attempt) => run(input, attempt), given),
  });
}
