// A step that another worker takes: its name and what goes in and comes out, apart from its code. A call of it is
// a child with one step, so that whoever announces its name can claim it, over any transport and in any
// language; retries, fences and takeovers are those of every execution.

import { type PipelineName, parsePipelineName } from '../execution/names.ts';
import { InvalidInput } from '../support/fault.ts';
import { readOptions, shown } from '../support/options.ts';
import { requireSchema, type Schema } from './values/schema.ts';

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

export function isRemoteStep(value: unknown): value is AnyRemoteStep {
  return typeof value === 'object' && value !== null && made.has(value);
}

export function requireRemoteStep(what: string, value: unknown): asserts value is AnyRemoteStep {
  if (isRemoteStep(value)) return;
  throw new InvalidInput(
    `${what}: step is one made by remoteStep({ name }); got ${shown(value)}. For a pipeline use ctx.spawn.`,
  );
}
