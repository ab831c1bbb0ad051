// A pipeline: a name and a plain async function. Never bundled, never sandboxed.

import { type PipelineName, parsePipelineName } from '../execution/names.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions, shown, wholeNumber } from '../support/options.ts';
import type { Context, RetryOptions } from './context.ts';
import { resolveRetry } from './retry-options.ts';
import type { Schema } from './schema.ts';

/**
 * What is durable when. `every-step`: each result before the next step starts; at most what was running is
 * run again after a crash. The others save commits: after a crash up to `steps` steps, or the steps of
 * the last `ms` milliseconds, or all since the last `ctx.checkpoint`, are run again.
 */
export type CheckpointPolicy =
  | { readonly every: 'step' }
  | { readonly every: 'steps'; readonly steps: number }
  | { readonly every: 'time'; readonly ms: number }
  | { readonly every: 'hand' };

export interface PipelineOptions<Input, Output> {
  readonly name: string;
  readonly input?: Schema<Input>;
  readonly output?: Schema<Output>;
  /** For steps that do not say otherwise. */
  readonly retry?: RetryOptions;
  readonly checkpoint?: CheckpointPolicy;
  /** What a state given to `ctx.checkpoint` must be like; throw to refuse it. */
  readonly validateCheckpoint?: (state: unknown) => void;
  run(ctx: Context, input: Input): Promise<Output> | Output;
}

export interface Pipeline<Input, Output> extends Omit<PipelineOptions<Input, Output>, 'name'> {
  readonly name: PipelineName;
  readonly checkpoint: CheckpointPolicy;
}

export type AnyPipeline = Pipeline<never, unknown>;

const NAMES: readonly (keyof PipelineOptions<unknown, unknown>)[] = [
  'name',
  'input',
  'output',
  'retry',
  'checkpoint',
  'validateCheckpoint',
  'run',
];

const EVERY_STEP: CheckpointPolicy = Object.freeze({ every: 'step' });

export function pipeline<Input = unknown, Output = unknown>(
  options: PipelineOptions<Input, Output>,
): Pipeline<Input, Output> {
  rejectUnknownOptions('pipeline', options, NAMES);
  if (typeof options.run !== 'function') {
    throw new InvalidInput(
      `pipeline: run must be a function (ctx, input) => output; got ${shown(options.run)}.`,
    );
  }
  for (const name of ['input', 'output'] as const) {
    const schema = options[name];
    if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
      throw new InvalidInput(
        `pipeline: ${name} must be a Standard Schema, such as one of zod, valibot or arktype.`,
      );
    }
  }
  const checkpoint = options.checkpoint ?? EVERY_STEP;
  checkPolicy(checkpoint);
  resolveRetry(options.retry);
  return Object.freeze({ ...options, name: parsePipelineName(options.name), checkpoint });
}

function checkPolicy(policy: CheckpointPolicy): void {
  switch (policy.every) {
    case 'step':
    case 'hand':
      return;
    case 'steps':
      wholeNumber('checkpoint.steps', policy.steps, { min: 1, max: 1_000_000 });
      return;
    case 'time':
      wholeNumber('checkpoint.ms', policy.ms, { min: 1, max: 86_400_000 });
      return;
    default:
      throw new InvalidInput(
        `checkpoint.every must be "step", "steps", "time" or "hand"; got ${shown((policy as { every: unknown }).every)}.`,
      );
  }
}
