// The worker's side of a remote step: its code, as a pipeline of one step.

import { readOptions, requireFunction, wholeNumber } from '../support/options.ts';
import type { RetryOptions, StepContext } from './context.ts';
import { type Pipeline, pipeline } from './pipeline.ts';
import { type RemoteStep, requireRemoteStep } from './remote-step.ts';
import { resolveRetry } from './retry-options.ts';

export interface HostOptions {
  readonly retry?: RetryOptions;
  /** How long one attempt may take; none unless said. */
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
    wholeNumber('hostStep: timeoutMs', given.timeoutMs, { min: 1, max: 2 ** 31 - 1 });
  }
  return pipeline<Input, Output>({
    ...step,
    run: (ctx, input) => ctx.step(step.name, (attempt) => run(input, attempt), given),
  });
}
