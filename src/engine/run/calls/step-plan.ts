// What a caller of `ctx.step` asks for, checked.

import type { CallKey } from '../../../execution/names.ts';
import { InvalidInput } from '../../../support/fault.ts';
import { readOptions, shown, wholeNumber } from '../../../support/options.ts';
import type { SagaOptions, StepContext } from '../../context.ts';
import { type ResolvedRetry, resolveRetry } from '../../retry-options.ts';
import { type Compensation, compensationOf } from '../compensations.ts';
import type { Run } from '../run.ts';

export interface StepPlan<Output> {
  readonly key: CallKey;
  readonly name: string;
  readonly fn: (step: StepContext) => Output | Promise<Output>;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number | undefined;
  /** What undoes it (Y-1). */
  readonly compensation: Compensation | undefined;
}

export const STEP_OPTIONS: readonly (keyof SagaOptions<unknown>)[] = [
  'retry',
  'timeoutMs',
  'compensate',
];

// biome-ignore lint/suspicious/noExplicitAny: nothing is said, so it fits every output
export const NO_OPTIONS: SagaOptions<any> = Object.freeze({});

const TIMEOUT_MS_MAX = 10 * 366 * 86_400_000;

/** Checked, also where there is no step in the end. */
export function stepOptions<Output>(what: string, given: SagaOptions<Output>): SagaOptions<Output> {
  if (given === NO_OPTIONS) return given;
  const options = readOptions(what, given, STEP_OPTIONS);
  const { timeoutMs } = options;
  if (timeoutMs !== undefined) wholeNumber('timeoutMs', timeoutMs, { min: 1, max: TIMEOUT_MS_MAX });
  resolveRetry(options.retry);
  return options;
}

/** All of a plan but its key, which counts only calls that were made rightly. */
export function stepPlanOf<Output>(
  run: Run,
  asked: {
    readonly name: string;
    readonly fn: (step: StepContext) => Output | Promise<Output>;
    readonly options: SagaOptions<Output>;
  },
): Omit<StepPlan<Output>, 'key'> {
  const { name, fn } = asked;
  const { timeoutMs, retry, compensate } = stepOptions('ctx.step', asked.options);
  if (typeof fn !== 'function') {
    throw new InvalidInput(
      `ctx.step(${shown(name)}): the second argument is a function; got ${shown(fn)}.`,
    );
  }
  return {
    name,
    fn,
    retry: resolveRetry(retry ?? run.pipeline.retry),
    timeoutMs,
    compensation: compensate === undefined ? undefined : compensationOf(compensate),
  };
}
