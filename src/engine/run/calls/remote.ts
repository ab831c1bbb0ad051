// `ctx.call`: a step that another worker takes.

import type { ChildOutcome, SpawnOptions } from '../../context.ts';
import { StepFailed } from '../../failures.ts';
import { type RemoteStep, requireRemoteStep } from '../../remote-step.ts';
import { validated } from '../../values/schema.ts';
import type { Run } from '../run.ts';
import type { RunContext } from '../run-context.ts';
import { begin, ended } from './spawning.ts';

/** A child with one step, which whoever hosts it takes. */
export async function call<Input, Output>(
  ctx: RunContext,
  run: Run,
  asked: {
    readonly step: RemoteStep<Input, Output>;
    readonly input: Input;
    readonly options: SpawnOptions;
  },
): Promise<Output> {
  const { step, input, options } = asked;
  const target = (): { name: typeof step.name; schema: typeof step.input } => {
    requireRemoteStep('ctx.call', step);
    return { name: step.name, schema: step.input };
  };
  const asking = { what: 'ctx.call', target, options, inputs: [input], kind: 'call' };
  const { key, ids } = await begin(ctx, run, asking);
  const [outcome] = await ended<Output>(ctx, run, { key, ids });
  if (outcome?.status !== 'completed') throw failedCall(step.name, outcome);
  if (step.output === undefined) return outcome.output;
  return validated(`The output of "${step.name}"`, step.output, outcome.output);
}

/** As a step of one's own that failed for good. */
function failedCall(name: string, outcome: ChildOutcome<unknown> | undefined): StepFailed {
  const status = outcome?.status ?? 'failed';
  const failure = outcome !== undefined && 'failure' in outcome ? outcome.failure : undefined;
  const message = `It is ${status}, and nobody said why.`;
  return new StepFailed(name, failure ?? { category: 'unknown', code: status, message });
}
