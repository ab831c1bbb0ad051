// A step that another worker takes: its name and what goes in and comes out, apart from its code. A call of it is
// a child with one step, so that whoever announces its name can claim it, over any transport and in any
// language; retries, fences and takeovers are those of every execution.

import { type PipelineName, parsePipelineName } from '../execution/names.ts';
import { InvalidInput } from '../support/fault.ts';
import { readOptions, requireFunction, shown, wholeNumber } from '../support/options.ts';
import type { RetryOptions, StepContext } from './context.ts';
import { type Pipeline, pipeline, requireSchema } from './pipeline.ts';
import { resolveRetry } from './retry-options.ts';
import type { Schema } from './schema.ts';

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

export interface HostOptions {
  readonly retry?: RetryOptions;
  /** How long one attempt may take; none unless said. */
  readonly timeoutMs?: number;
}

const made: WeakSet<object> = new WeakSet();

/** Known to both sides: who calls it with `ctx.call`, and who hosts it with `hostStep`. */
export function remoteStep<Input = unknown, Output = unknown>(
  options: RemoteStepOptions<Input, Output>,
): RemoteStep<Input, Output> {
  const given = readOptions('remoteStep', options, ['name', 'input', 'output']);
  requireSchema('remoteStep: input', given.input);
  requireSchema('remoteStep: output', given.output);
  const step = Object.freeze({ ...given, name: parsePipelineName(given.name) });
  made.add(step);
  return step;
}

export function isRemoteStep(value: unknown): value is RemoteStep<unknown, unknown> {
  return typeof value === 'object' && value !== null && made.has(value);
}

export function requireRemoteStep(what: string, value: unknown): void {
  if (isRemoteStep(value)) return;
  throw new InvalidInput(
    `${what}: step is one made by remoteStep({ name }); got ${shown(value)}. For a pipeline use ctx.spawn.`,
  );
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
    wholeNumber('hostStep: timeoutMs', given.timeoutMs, { min: 1, max: 2 ** 31 - 1 });
  }
  return pipeline<Input, Output>({
    ...step,
    run: (ctx, input) => ctx.step(step.name, (attempt) => run(input, attempt), given),
  });
}
