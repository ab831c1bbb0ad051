// `ctx.spawn` and `ctx.fanOut`: what the code asked for, as submissions of children.

import { type CallKey, type ExecutionId, parsePipelineName } from '../execution/names.ts';
import type { Submit } from '../store/contract/execution-store.ts';
import { ChildrenCall } from './calls/children.ts';
import { childCall, SpawnCall } from './calls/spawn.ts';
import type { Child, ChildOutcome, Children, SpawnOptions } from './context.ts';
import type { RunContext } from './context-of.ts';
import { ChildFailed } from './failures.ts';
import { guarded } from './guarded.ts';
import type { Pipeline } from './pipeline.ts';
import type { Run } from './run.ts';
import { validated } from './schema.ts';
import { checkPlacing } from './submission.ts';

interface Asked<Input, Output> {
  readonly pipeline: Pipeline<Input, Output> | string;
  readonly options: SpawnOptions;
}

export async function spawn<Input, Output>(
  ctx: RunContext,
  run: Run,
  asked: Asked<Input, Output> & { readonly input: Input },
): Promise<Child<Output>> {
  const { key, ids } = await begin(ctx, run, { ...asked, inputs: [asked.input], kind: 'child' });
  const id = ids[0] as ExecutionId;
  return {
    id,
    result: () =>
      guarded(
        ended<Output>(ctx, run, { key, ids }).then(([outcome]) =>
          outputOf(outcome as ChildOutcome<Output>),
        ),
      ),
  };
}

export async function fanOut<Input, Output>(
  ctx: RunContext,
  run: Run,
  asked: Asked<Input, Output> & { readonly inputs: readonly Input[] },
): Promise<Children<Output>> {
  const { key, ids } = await begin(ctx, run, { ...asked, kind: 'children' });
  return {
    ids,
    outcomes: () => ended<Output>(ctx, run, { key, ids }),
    results: () => guarded(ended<Output>(ctx, run, { key, ids }).then((all) => all.map(outputOf))),
  };
}

async function begin<Input, Output>(
  ctx: RunContext,
  run: Run,
  asked: Asked<Input, Output> & { readonly inputs: readonly Input[]; readonly kind: string },
): Promise<{ readonly key: CallKey; readonly ids: readonly ExecutionId[] }> {
  const { pipeline, inputs, options } = asked;
  const { name: given, ...placing } = options;
  checkPlacing('ctx.spawn', placing);
  const name = given ?? (typeof pipeline === 'string' ? pipeline : pipeline.name);
  const key = ctx.nextKey(asked.kind, name);
  // After a checkpoint calls are counted anew: children of different eras must not be taken for each other.
  const { era } = run.ledger;
  const scope = (era === 0 ? key : `${era}/${key}`) as CallKey;
  await checkInputs(run, asked);
  const plan = {
    key,
    name,
    count: inputs.length,
    childAt: (index: number, id: ExecutionId) =>
      childOf(run, {
        pipeline,
        options,
        input: inputs[index] as Input,
        id,
        call: childCall(scope, index),
      }),
  };
  if (inputs.length === 0) return { key: scope, ids: [] };
  const ids = await ctx.enter<readonly ExecutionId[]>(
    (promise) => new SpawnCall(run, plan, promise),
  );
  return { key: scope, ids };
}

/** Before anything is begun: what can never be spawned is no call, and a replay does not ask for it. */
async function checkInputs<Input, Output>(
  run: Run,
  { pipeline, inputs }: Asked<Input, Output> & { readonly inputs: readonly Input[] },
): Promise<void> {
  const name = parsePipelineName(typeof pipeline === 'string' ? pipeline : pipeline.name);
  const schema = typeof pipeline === 'string' ? undefined : pipeline.input;
  for (const input of inputs) {
    if (schema !== undefined) {
      const checked = validated(`The input of "${name}"`, schema, input);
      if (checked instanceof Promise) await checked;
    }
    run.config.payloads.check(`The input of "${name}"`, input);
  }
}

async function childOf<Input, Output>(
  run: Run,
  asked: Asked<Input, Output> & {
    readonly input: Input;
    readonly id: ExecutionId;
    readonly call: CallKey;
  },
): Promise<Submit> {
  const { pipeline, options, id, call } = asked;
  const { execution } = run.claimed;
  const name = parsePipelineName(typeof pipeline === 'string' ? pipeline : pipeline.name);
  const { lane, delayMs, deadlineMs, tags = [], attributes = {}, concurrency, rate } = options;
  return {
    id,
    project: execution.project,
    pipeline: name,
    lane: lane ?? execution.lane,
    // As it was given: whoever runs it checks it again, and a schema may change what it lets pass.
    input: await run.config.payloads.encode(`The input of "${name}"`, asked.input),
    lineage: id,
    parent: { id: execution.id, call },
    tags,
    attributes,
    intent: call,
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
    ...(execution.traceparent === undefined ? {} : { traceparent: execution.traceparent }),
  };
}

function ended<Output>(
  ctx: RunContext,
  run: Run,
  spawned: { readonly key: CallKey; readonly ids: readonly ExecutionId[] },
): Promise<readonly ChildOutcome<Output>[]> {
  const key = ctx.nextKeyOf('result', spawned.key);
  return ctx.enter((promise) => new ChildrenCall<Output>(run, { key, spawned }, promise));
}

function outputOf<Output>(outcome: ChildOutcome<Output>): Output {
  if (outcome.status === 'completed') return outcome.output;
  throw new ChildFailed(outcome);
}
