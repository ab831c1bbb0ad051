// `ctx.spawn` and `ctx.fanOut`: what the code asked for, as submissions of children.

import type { CallKey, ExecutionId, PipelineName } from '../../../execution/names.ts';
import {
  checkedRef,
  isTemplateRef,
  present,
  type TemplateRef,
  templatedBy,
} from '../../../features/templates/api.ts';
import type { Submit } from '../../../store/contract/execution-store.ts';
import { Fault } from '../../../support/fault.ts';
import { readList, readOptions } from '../../../support/options.ts';
import { hasStore } from '../../config.ts';
import type { Child, ChildOutcome, Children, Spawnable, SpawnOptions } from '../../context.ts';
import { ChildFailed } from '../../failures.ts';
import { pipelineOf } from '../../pipeline.ts';
import { patiently } from '../../store-retry.ts';
import { checkedPlacing, delayOf, type Placing } from '../../submission.ts';
import { inputOf } from '../../values/place.ts';
import { type Schema, validated } from '../../values/schema.ts';
import { guarded } from '../guarded.ts';
import type { Run } from '../run.ts';
import type { RunContext } from '../run-context.ts';
import { ChildrenCall } from './children.ts';
import { childCall, SpawnCall } from './spawn.ts';

interface Asked<Input, Output> {
  readonly pipeline: Spawnable<Input, Output>;
  readonly options: SpawnOptions;
}

/** What was asked for, checked. */
interface Spawning {
  readonly pipeline: PipelineName;
  readonly schema: Schema | undefined;
  readonly inputs: readonly unknown[];
  readonly placing: Placing;
  readonly template?: NonNullable<Submit['template']>;
}

const NAMES: readonly (keyof SpawnOptions)[] = [
  ...(['name', 'lane', 'delayMs', 'deadlineMs', 'tags', 'attributes', 'concurrency'] as const),
  'rate',
];

export async function spawn<Input, Output>(
  ctx: RunContext,
  run: Run,
  asked: Asked<Input, Output> & { readonly input: Input },
): Promise<Child<Output>> {
  const { key, ids } = await begin(ctx, run, {
    ...asked,
    what: 'ctx.spawn',
    target: () => targetOf('ctx.spawn', asked.pipeline),
    inputs: [asked.input],
    kind: 'child',
  });
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
  const inputs = readList('ctx.fanOut: inputs', asked.inputs);
  const what = 'ctx.fanOut';
  const target = (): Target => targetOf(what, asked.pipeline);
  const { key, ids } = await begin(ctx, run, { ...asked, what, target, inputs, kind: 'children' });
  return {
    ids,
    outcomes: () => ended<Output>(ctx, run, { key, ids }),
    results: () => guarded(ended<Output>(ctx, run, { key, ids }).then((all) => all.map(outputOf))),
  };
}

interface Beginning {
  readonly what: string;
  readonly target: () => Target;
  readonly options: SpawnOptions;
  readonly inputs: readonly unknown[];
  readonly kind: string;
}

export async function begin(
  ctx: RunContext,
  run: Run,
  asked: Beginning,
): Promise<{ readonly key: CallKey; readonly ids: readonly ExecutionId[] }> {
  const { what, inputs } = asked;
  const { name: given, ...placed } = readOptions(what, asked.options, NAMES);
  const placing = checkedPlacing(what, placed);
  const target = asked.target();
  const name = given === undefined ? target.name : given;
  const key = ctx.nextKey(asked.kind, name);
  // After a checkpoint calls are counted anew: children of different eras must not be taken for each other.
  const { era } = run.ledger;
  const scope = (era === 0 ? key : `${era}/${key}`) as CallKey;
  const spawning = await spawningOf(run, key, { target, inputs, placing });
  await checkInputs(run, spawning);
  const plan = {
    key,
    name,
    count: inputs.length,
    of: 'ref' in target ? `template ${target.name}` : target.name,
    childAt: (index: number, id: ExecutionId) =>
      childOf(run, spawning, { index, id, call: childCall(scope, index) }),
  };
  if (inputs.length === 0) return { key: scope, ids: [] };
  const ids = await ctx.enter<readonly ExecutionId[]>(
    (promise) => new SpawnCall(run, plan, promise),
  );
  return { key: scope, ids };
}

type Target =
  | { readonly name: PipelineName; readonly schema: Schema | undefined }
  | { readonly name: string; readonly ref: TemplateRef };

function targetOf(what: string, given: unknown): Target {
  if (isTemplateRef(given)) {
    const { id, version } = checkedRef(given);
    return { name: id, ref: { template: id, ...(version === undefined ? {} : { version }) } };
  }
  const { name, input } = pipelineOf(what, given as string);
  return { name, schema: input };
}

async function spawningOf(
  run: Run,
  key: CallKey,
  asked: Pick<Spawning, 'inputs' | 'placing'> & { readonly target: Target },
): Promise<Spawning> {
  const { target, inputs, placing } = asked;
  if (!('ref' in target)) {
    return { pipeline: target.name, schema: target.schema, inputs, placing };
  }
  // In a replay nothing is made of it any more.
  if (run.ledger.settlements.some(({ body }) => body.key === key)) {
    return { pipeline: target.name as PipelineName, schema: undefined, inputs: [], placing };
  }
  const { config } = run;
  if (!hasStore(config)) {
    throw new Fault(
      'not-remote',
      'A child made from a template needs a worker that has the store itself. Run this pipeline embedded, or name the pipeline of the child instead of the template.',
    );
  }
  // The execution stays here meanwhile, whatever else it waits for.
  run.active(1);
  try {
    const { template, pipeline, options, inputOf } = await patiently(run, async () =>
      templatedBy(config, run.claimed.execution.project, await pinned(run, key, target.ref)),
    );
    return {
      ...{ template, pipeline, schema: undefined },
      inputs: inputs.map(inputOf),
      placing: { ...options, ...present(placing) },
    };
  } finally {
    run.active(-1);
  }
}

/** The newest version is that of the first child: the rest of them, after a crash, have the same. */
async function pinned(run: Run, key: CallKey, ref: TemplateRef): Promise<TemplateRef> {
  const [first] = run.ledger.openingOf(key)?.ids ?? [];
  if (ref.version !== undefined || first === undefined) return ref;
  const version = (await run.config.store.executions.read(first))?.template?.version;
  return version === undefined ? ref : { ...ref, version };
}

/** Before anything is begun: what can never be spawned is no call, and a replay does not ask for it. */
async function checkInputs(run: Run, { pipeline, schema, inputs }: Spawning): Promise<void> {
  for (const input of inputs) {
    if (schema !== undefined) {
      const checked = validated(`The input of "${pipeline}"`, schema, input);
      if (checked instanceof Promise) await checked;
    }
    run.config.payloads.check(`The input of "${pipeline}"`, input);
  }
}

async function childOf(
  run: Run,
  { pipeline, inputs, placing, template }: Spawning,
  child: { readonly index: number; readonly id: ExecutionId; readonly call: CallKey },
): Promise<Submit> {
  const { id, call } = child;
  const { execution } = run.claimed;
  const { lane, delayMs, deadlineMs, tags = [], attributes = {}, concurrency, rate } = placing;
  return {
    id,
    project: execution.project,
    pipeline,
    lane: lane ?? execution.lane,
    // As it was given: whoever runs it checks it again, and a schema may change what it lets pass.
    input: await run.payloads.encode(
      `The input of "${pipeline}"`,
      inputs[child.index],
      inputOf(id),
    ),
    lineage: id,
    parent: { id: execution.id, call },
    tags,
    attributes,
    intent: call,
    ...(delayMs === undefined ? {} : { delayMs: delayOf(placing) }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
    ...(template === undefined ? {} : { template }),
    ...(execution.traceparent === undefined ? {} : { traceparent: execution.traceparent }),
  };
}

/** How they ended, when all of them have. */
export function ended<Output>(
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
