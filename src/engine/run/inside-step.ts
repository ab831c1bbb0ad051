// Calls of a context inside a step would be recorded before the step that made them, and a replay, which
// does not run the step again, would never ask for them. They are refused where they are made.

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { CallKey } from '../../execution/names.ts';
import { InvalidInput } from '../../support/fault.ts';

/** The run whose step the current code is part of. */
const insideStep: AsyncLocalStorage<object> = new AsyncLocalStorage();

/**
 * Runs `fn` as part of a step of this run. In a resource, which puts back what was there before: `insideStep.run`
 * would make a copy of it, once for every step, and leave that to the code that goes on.
 */
export function runInside<Argument, Result>(
  run: object,
  fn: (argument: Argument) => Result,
  argument: Argument,
): Result {
  return new AsyncResource('holdfast.step').runInAsyncScope(
    enter<Argument, Result>,
    undefined,
    run,
    fn,
    argument,
  );
}

function enter<Argument, Result>(
  run: object,
  fn: (argument: Argument) => Result,
  argument: Argument,
): Result {
  insideStep.enterWith(run);
  return fn(argument);
}

export function isInside(run: object): boolean {
  return insideStep.getStore() === run;
}

/** Undefined unless the call is made inside a step of this run. */
export function refuseInside(run: object, key: CallKey): InvalidInput | undefined {
  if (!isInside(run)) return undefined;
  return new InvalidInput(
    `${key} was called inside a step. Calls of ctx belong to the pipeline's own code: make it after the step, or do its work in the step itself.`,
  );
}
