// Starts children in the transaction that records their ids, so none can start twice. Many children
// start in a few commits.

import type { Failure } from '../../../execution/failure.ts';
import {
  type CallKey,
  DETACHED_CALL,
  type ExecutionId,
  type Payload,
  type PipelineName,
} from '../../../execution/names.ts';
import {
  checkedRef,
  isTemplateRef,
  type TemplateRef,
  templatedBy,
} from '../../../features/templates/api.ts';
import { NAME_BYTES_MAX } from '../../../lease/names.ts';
import type { Submit } from '../../../store/contract/execution-store.ts';
import type { Instant } from '../../../support/clock.ts';
import { Fault, InvalidInput } from '../../../support/fault.ts';
import {
  boundedText,
  present,
  readList,
  readOptions,
  shown,
  wordsIn,
} from '../../../support/options.ts';
import { hasStore } from '../../config.ts';
import type { Child, ChildOutcome, Children, Spawnable, SpawnOptions } from '../../context.ts';
import { ChildFailed, StepFailed } from '../../failures.ts';
import { pipelineOf, type RemoteStep, requireRemoteStep } from '../../pipeline.ts';
import { untilReplied, untilSessionEnds } from '../../store-replies.ts';
import { checkedPlacing, delayOf, type Placing } from '../../submission.ts';
import { inputOf } from '../../values/place.ts';
import { type Schema, validated } from '../../values/schema.ts';
import { PromisedCall } from '../call.ts';
import { guarded } from '../guarded.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';
import type { RunContext } from '../run-context.ts';
import { messagesTo } from './child-messages.ts';
import { ChildrenCall, childCall, type Spawned } from './children.ts';

interface SpawnPlan {
  readonly key: CallKey;
  readonly name: string;
  readonly count: number;
  /** The name of the pipeline, or `template` and the template's id. */
  readonly of: string;
  /** Builds the submission of the child at this index, under this id. */
  childAt(index: number, id: ExecutionId): Submit | Promise<Submit>;
}

/** Bounds one commit, its memory and the time that it occupies the store. */
const CHUNK = 1_000;
/** Counts tags and attributes as rows: a single write must not block other clients of the store. */
const CHUNK_ROWS = 5_000;

class SpawnCall extends PromisedCall<SpawnPlan, readonly ExecutionId[]> {
  readonly #askedAt: Instant = this.run.now;

  override start(opening: Opening | undefined): void {
    if (opening !== undefined && this.#hasDrifted(opening, opening.seq)) return;
    this.run.active(1);
    this.#spawnFrom(opening?.ids ?? []).catch((error: unknown) => this.failUnrecorded(error));
  }

  override settle({ body, seq }: Settlement): void {
    if (!this.#hasDrifted(body, seq)) this.promised.resolve(body.ids ?? []);
  }

  /** The call has the key of a recorded one, but asks for other children. */
  #hasDrifted({ of, last, ids }: Pick<CallBody, 'of' | 'last' | 'ids'>, seq: number): boolean {
    const { key, count, of: args } = this.plan;
    const recorded = last === true ? (ids?.length ?? 0) : count;
    // Older builds did not record the pipeline of the children.
    if (of === undefined || (of === args && recorded === count)) return false;
    const text = (number: number, name: string): string => `${key} (${number} of ${name})`;
    this.run.events.drifted({ expected: text(recorded, of), found: text(count, args), seq });
    return true;
  }

  async #spawnFrom(before: readonly ExecutionId[]): Promise<void> {
    const { key, name, count, of } = this.plan;
    const ids = [...before];
    do {
      const chunk = await this.#nextChunk(ids.length);
      if (!this.isWanted) return;
      ids.push(...chunk.map(({ id }) => id));
      const last = ids.length >= count;
      const body: CallBody = { key, of, ids: chunk.map(({ id }) => id), ...(last && { last }) };
      const { promise, resolve } = Promise.withResolvers<void>();
      this.run.journal.record({
        event: { kind: 'child-spawned', name, body: JSON.stringify(body) as Payload },
        children: chunk,
        stored: (at) => {
          if (last) {
            this.run.settle({ kind: 'child-spawned', body: { ...body, ids }, at, seq: 0 });
            this.run.active(-1);
          }
          resolve();
        },
      });
      await promise;
    } while (ids.length < count);
  }

  async #nextChunk(from: number): Promise<readonly Submit[]> {
    const { count } = this.plan;
    const to = Math.min(from + CHUNK, count);
    const children: Submit[] = [];
    for (let index = from, rows = 0; index < to && rows < CHUNK_ROWS; index += 1) {
      const id = this.run.config.ids.nextAt(this.#askedAt);
      const child = await this.plan.childAt(index, id);
      rows += 2 + child.tags.length + Object.keys(child.attributes).length;
      children.push(child);
    }
    return children;
  }
}

// `ctx.spawn` and `ctx.fanOut`: turn the code's arguments into submissions of children.

interface SpawnArguments<Input, Output> {
  readonly pipeline: Spawnable<Input, Output>;
  readonly options: SpawnOptions;
}

/** The checked arguments. */
interface Spawning {
  readonly pipeline: PipelineName;
  readonly schema: Schema | undefined;
  readonly inputs: readonly unknown[];
  readonly placing: Placing;
  readonly template?: NonNullable<Submit['template']>;
}

const NAMES: readonly (keyof SpawnOptions)[] = wordsIn(
  'name key onParentEnd lane delayMs deadlineMs tags attributes concurrency rate',
);

export async function spawn<Input, Output>(
  ctx: RunContext,
  run: Run,
  args: SpawnArguments<Input, Output> & { readonly input: Input },
): Promise<Child<Output>> {
  const what = 'ctx.spawn';
  const target = (): Target => targetOf(what, args.pipeline);
  const inputs = [args.input];
  const spawned = await begin(ctx, run, { ...args, what, target, inputs, kind: 'child' });
  const id = spawned.ids[0] as ExecutionId;
  return {
    id,
    ...messagesTo(ctx, run, id),
    result: () =>
      guarded(
        ended<Output>(ctx, run, spawned).then(([outcome]) =>
          outputOf(outcome as ChildOutcome<Output>),
        ),
      ),
  };
}

export async function fanOut<Input, Output>(
  ctx: RunContext,
  run: Run,
  args: SpawnArguments<Input, Output> & { readonly inputs: readonly Input[] },
): Promise<Children<Output>> {
  const inputs = readList('ctx.fanOut: inputs', args.inputs);
  const what = 'ctx.fanOut';
  const target = (): Target => targetOf(what, args.pipeline);
  const spawned = await begin(ctx, run, { ...args, what, target, inputs, kind: 'children' });
  return {
    ids: spawned.ids,
    outcomes: () => ended<Output>(ctx, run, spawned),
    results: () => guarded(ended<Output>(ctx, run, spawned).then((all) => all.map(outputOf))),
  };
}

/** The kind of such calls. The store reads their children's parent call. */
const DETACHED = DETACHED_CALL.slice(0, -1);

function isAbandoned(what: string, onParentEnd: unknown = 'cancel'): boolean {
  if (onParentEnd === 'cancel' || onParentEnd === 'abandon') return onParentEnd === 'abandon';
  throw new InvalidInput(
    `${what}: onParentEnd must be cancel or abandon; got ${shown(onParentEnd)}.`,
  );
}

interface Beginning {
  readonly what: string;
  readonly target: () => Target;
  readonly options: SpawnOptions;
  readonly inputs: readonly unknown[];
  readonly kind: string;
}

async function begin(ctx: RunContext, run: Run, args: Beginning): Promise<Spawned> {
  const { what, inputs } = args;
  const {
    name: given,
    key: taken,
    onParentEnd,
    ...placed
  } = readOptions(what, args.options, NAMES);
  const ownKey = taken === undefined ? undefined : checkedKey(what, taken);
  const placing = checkedPlacing(what, placed);
  const target = args.target();
  const name = given === undefined ? target.name : given;
  const isDetached = isAbandoned(what, onParentEnd);
  const key = isDetached ? ctx.nextKey(DETACHED, name) : ctx.nextKey(args.kind, name);
  // Call numbers restart after a checkpoint. The era keeps apart children of equal keys.
  const { era } = run.ledger;
  const inEra = isDetached ? `${DETACHED_CALL}${era}/${key}` : `${era}/${key}`;
  const scope = (era === 0 ? key : inEra) as CallKey;
  // Templates and schemas check data, so their refusals are failures, not bugs.
  const spawning = await guarded(spawningOf(run, key, { target, inputs, placing }));
  // Check before the call begins: an input that can never be spawned makes no call, so a replay
  // does not expect one.
  await guarded(validateInputs(spawning));
  for (const input of spawning.inputs) {
    run.config.payloads.check(`The input of "${spawning.pipeline}"`, input);
  }
  const plan = {
    key,
    name,
    count: inputs.length,
    of: 'ref' in target ? `template ${target.name}` : target.name,
    childAt: (index: number, id: ExecutionId) =>
      childOf(run, spawning, { index, id, call: childCall(scope, index), key: ownKey }),
  };
  if (inputs.length === 0) return { key: scope, ids: [] };
  const ids = await ctx.enter<readonly ExecutionId[]>(
    (promise) => new SpawnCall(run, plan, promise),
  );
  const [id] = ids;
  if (ownKey !== undefined && id !== undefined) noteLeftOut(run, childCall(scope, 0), id);
  return { key: scope, ids };
}

function checkedKey(what: string, key: unknown): string {
  if (what === 'ctx.spawn') return boundedText(`${what}: key`, key, NAME_BYTES_MAX);
  throw new InvalidInput(
    `${what}: key is an option of ctx.spawn only, because a key has one execution.`,
  );
}

/**
 * The store leaves out a child whose key is taken. Its parent then records the end of that
 * child. The check repeats in each claim until history has an end.
 */
function noteLeftOut(run: Run, call: CallKey, id: ExecutionId): void {
  const isEnded = (): boolean =>
    run.inbox.outcomeOf(call) !== undefined ||
    run.ledger.settlements.some(({ kind, body }) => kind === 'child-ended' && body.key === call);
  if (isEnded() || run.isFrozen) return;
  run.active(1);
  const check = async (): Promise<void> => {
    const { executions } = run.config.store;
    if ((await untilReplied(run, () => executions.read(id))) !== undefined || run.isOver) return;
    // A child that was removed has reported its end.
    await run.inbox.refresh();
    if (isEnded() || run.isOver) return;
    const body: CallBody = { key: call, id, status: 'failed', failure: KEY_IN_USE };
    await new Promise<void>((resolve) => {
      run.journal.record({
        event: { kind: 'child-ended', name: call, body: JSON.stringify(body) as Payload },
        stored: (at) => {
          run.settle({ kind: 'child-ended', body, at, seq: 0 });
          resolve();
        },
      });
    });
  };
  check()
    .catch((error: unknown) => run.troubled(error))
    .finally(() => run.active(-1));
}

const KEY_IN_USE: Failure = {
  category: 'permanent',
  code: 'key-in-use',
  message: 'Another execution has the key of this child, so the child was not started.',
};

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
  args: Pick<Spawning, 'inputs' | 'placing'> & { readonly target: Target },
): Promise<Spawning> {
  const { target, inputs, placing } = args;
  if (!('ref' in target)) {
    return { pipeline: target.name, schema: target.schema, inputs, placing };
  }
  // A replay does not use the template, so skip reading it.
  if (run.ledger.settlements.some(({ body }) => body.key === key)) {
    return { pipeline: target.name as PipelineName, schema: undefined, inputs: [], placing };
  }
  const { config } = run;
  if (!hasStore(config)) {
    throw new Fault(
      'not-remote',
      'A remote worker cannot spawn a child from a template. Nothing was spawned. Spawn by pipeline instead, or run this pipeline embedded (openHoldfast).',
    );
  }
  // Keep the execution in this process until the template is read, whatever else it waits for.
  run.active(1);
  try {
    const { template, pipeline, options, inputOf } = await untilSessionEnds(run, async () =>
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

/** After a crash, the remaining children get the template version of the first. */
async function pinned(run: Run, key: CallKey, ref: TemplateRef): Promise<TemplateRef> {
  const [first] = run.ledger.openingOf(key)?.ids ?? [];
  if (ref.version !== undefined || first === undefined) return ref;
  const version = (await run.config.store.executions.read(first))?.template?.version;
  return version === undefined ? ref : { ...ref, version };
}

async function validateInputs({ pipeline, schema, inputs }: Spawning): Promise<void> {
  if (schema === undefined) return;
  for (const input of inputs) {
    const checked = validated(`The input of "${pipeline}"`, schema, input);
    if (checked instanceof Promise) await checked;
  }
}

async function childOf(
  run: Run,
  { pipeline, inputs, placing, template }: Spawning,
  child: {
    readonly index: number;
    readonly id: ExecutionId;
    readonly call: CallKey;
    readonly key: string | undefined;
  },
): Promise<Submit> {
  const { id, call, key } = child;
  const { execution } = run.claimed;
  const { lane, delayMs, deadlineMs, tags = [], attributes = {}, concurrency, rate } = placing;
  return {
    id,
    project: execution.project,
    pipeline,
    lane: lane ?? execution.lane,
    // Store the input as given. The worker that runs the child validates it again, and a schema may
    // change values.
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
    ...present({ key, deadlineMs, concurrency, rate, template }),
    ...present({ traceparent: execution.traceparent }),
  };
}

/** The outcomes of all children, once every child has ended. */
function ended<Output>(
  ctx: RunContext,
  run: Run,
  spawned: Spawned,
): Promise<readonly ChildOutcome<Output>[]> {
  const key = ctx.nextKeyOf('result', spawned.key);
  return ctx.enter((promise) => new ChildrenCall<Output>(run, { key, spawned }, promise));
}

function outputOf<Output>(outcome: ChildOutcome<Output>): Output {
  if (outcome.status === 'completed') return outcome.output;
  throw new ChildFailed(outcome);
}

// `ctx.call`: a step that another worker runs.

/** Starts a child with one step, for a worker that hosts it. */
export async function call<Input, Output>(
  ctx: RunContext,
  run: Run,
  args: {
    readonly step: RemoteStep<Input, Output>;
    readonly input: Input;
    readonly options: SpawnOptions;
  },
): Promise<Output> {
  const { step, input, options } = args;
  const target = (): { name: typeof step.name; schema: typeof step.input } => {
    requireRemoteStep('ctx.call', step);
    return { name: step.name, schema: step.input };
  };
  const call = { what: 'ctx.call', target, options, inputs: [input], kind: 'call' };
  const [outcome] = await ended<Output>(ctx, run, await begin(ctx, run, call));
  if (outcome?.status !== 'completed') throw failedCall(step.name, outcome);
  if (step.output === undefined) return outcome.output;
  return validated(`The output of "${step.name}"`, step.output, outcome.output);
}

/** Fails like a local step that has used up its attempts. */
function failedCall(name: string, outcome: ChildOutcome<unknown> | undefined): StepFailed {
  const status = outcome?.status ?? 'failed';
  const failure = outcome !== undefined && 'failure' in outcome ? outcome.failure : undefined;
  const message = `The child is ${status}, without a recorded failure.`;
  return new StepFailed(name, failure ?? { category: 'unknown', code: status, message });
}
