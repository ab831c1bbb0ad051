// The `ctx` of a run: names each call, checks its arguments, and passes it to the run.

import type { AttributeChanges } from '../../execution/execution.ts';
import { type CallKey, CLEANUP_CALL, type Payload } from '../../execution/names.ts';
import type { AwaitArguments } from '../../features/awaits/question-api.ts';
import { UPDATE_NAME_BYTES_MAX, updateSignal } from '../../features/updates/model.ts';
import { NAME_BYTES_MAX } from '../../lease/names.ts';
import { dateOf } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  readList,
  readOptions,
  requireFunction,
  shown,
  TEN_YEARS_MS,
  wordsIn,
} from '../../support/options.ts';
import { resolveCircuit } from '../circuits.ts';
import type {
  Child,
  Children,
  Context,
  ExecutionLease,
  MapOver,
  ReceiveOptions,
  SagaOptions,
  ScopeOptions,
  Spawnable,
  SpawnOptions,
  StepContext,
} from '../context.ts';
import { ContinueAsNew } from '../failures.ts';
import { derivedUuid } from '../ids.ts';
import type { RemoteStep } from '../pipeline.ts';
import { resolveRetry } from '../retry-options.ts';
import { changedAttributes } from '../submission.ts';
import { CHECKPOINT } from '../values/place.ts';
import { type Call, refuseInside } from './call.ts';
import { AttachCall, attachmentOf } from './calls/attach.ts';
import { awaitAnswers } from './calls/await.ts';
import { LeaseBlock, resourceOf } from './calls/lease.ts';
import { publishCall, type ReplyContent, replyCall } from './calls/publish.ts';
import { ReceiveCall, ReceiveUpdateCall, raced, receiveOptions } from './calls/receive.ts';
import { runScope, scopeOptions } from './calls/scope.ts';
import { SleepCall, type SleepPlan, untilOf } from './calls/sleep.ts';
import { call, fanOut, spawn } from './calls/spawn.ts';
import { StepCall, type StepPlan } from './calls/step.ts';
import { TransactionCall } from './calls/transaction.ts';
import { compensationOf } from './compensations.ts';
import {
  checkingArguments,
  guardedCall,
  guardedSignal,
  ignored,
  noteMisuse,
  noteRejection,
} from './guarded.ts';
import { isPatched, Log } from './log.ts';
import type { Run } from './run.ts';

const STEP_OPTIONS: readonly (keyof SagaOptions<unknown>)[] = wordsIn(
  'retry timeoutMs heartbeatTimeoutMs circuit compensate',
);

// biome-ignore lint/suspicious/noExplicitAny: no schema is declared, so it fits every output
const NO_OPTIONS: SagaOptions<any> = Object.freeze({});

const MAP_OPTIONS: readonly string[] = ['run', 'concurrency', ...STEP_OPTIONS];

export class RunContext implements Context {
  readonly #run: Run;
  /** The decoded state of the last checkpoint. */
  readonly restored: unknown;
  readonly #counts: Map<string, number>;
  readonly #stop: Run['stop'];
  readonly #isCleanup: boolean;
  #draws = 0;
  #uuids = 0;
  #hasReceived = false;
  #log: Log | undefined;

  constructor(run: Run, restored: unknown, counts?: Map<string, number>) {
    this.#run = run;
    this.restored = restored;
    this.#stop = run.stop;
    this.#isCleanup = counts !== undefined;
    this.#counts = counts ?? new Map();
  }

  get id(): Context['id'] {
    return this.#run.claimed.execution.id;
  }

  get pipeline(): string {
    return this.#run.pipeline.name;
  }

  get attributes(): Context['attributes'] {
    return { ...this.#run.attributes.now };
  }

  get tags(): readonly string[] {
    return [...this.#run.claimed.execution.tags];
  }

  get submittedAt(): Date {
    return dateOf(this.#run.claimed.execution.submittedAt);
  }

  get parent(): Context['parent'] {
    return this.#run.claimed.execution.parent?.id;
  }

  get scheduledAt(): Date | undefined {
    const { scheduled } = this.#run.claimed.execution;
    return scheduled === undefined ? undefined : dateOf(scheduled.at);
  }

  get traceparent(): string | undefined {
    return this.#run.claimed.execution.traceparent;
  }

  get signal(): AbortSignal {
    return guardedSignal((this.#isCleanup ? this.#run.stop : this.#stop).signal, this.#run);
  }

  step<Output, Details = unknown>(
    name: string,
    fn: (step: StepContext<Details>) => Output | Promise<Output>,
    options: SagaOptions<Output> = NO_OPTIONS,
  ): Promise<Output> {
    let plan: StepPlan<Output>;
    try {
      const planned = stepPlanOf(this.#run, { name, fn: fn as StepPlan<Output>['fn'], options });
      plan = { ...planned, key: this.nextKey('step', name) };
    } catch (error) {
      noteMisuse(error);
      throw error;
    }
    const promised = Promise.withResolvers<Output>();
    this.#run.enter(new StepCall<Output>(this.#run, plan, promised));
    // A receive may race with the step, so watch the races of this promise too.
    return this.#hasReceived ? raced(promised.promise) : promised.promise;
  }

  map<Item, Output>(
    name: string,
    items: readonly Item[],
    over: MapOver<Item, Output>,
  ): Promise<readonly Output[]> {
    return guardedCall(this.#map(name, items, over));
  }

  async #map<Item, Output>(
    name: string,
    given: readonly Item[],
    over: MapOver<Item, Output>,
  ): Promise<readonly Output[]> {
    const { run, concurrency = 16, ...rest } = readOptions('ctx.map', over, MAP_OPTIONS);
    integerOption('concurrency', concurrency, { min: 1, max: 10_000 });
    requireFunction('ctx.map: run', run);
    // Check the options even if there is no item to run a step for.
    const options = stepOptions('ctx.map', rest);
    boundedText('The name of a call', name, NAME_BYTES_MAX);
    const items = readList('ctx.map: items', given) as readonly Item[];
    const outputs = new Array<Output>(items.length);
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < items.length) {
        const index = next;
        next += 1;
        const item = items[index] as Item;
        outputs[index] = await this.step(name, (step) => run(item, step), options).catch(
          (error) => {
            // One item failed for good: begin no more.
            next = items.length;
            throw error;
          },
        );
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
    return outputs;
  }

  transaction<Output>(
    name: string,
    fn: (connection: never) => Output | Promise<Output>,
  ): Promise<Output> {
    checkingArguments(() => {
      boundedText('The name of a call', name, NAME_BYTES_MAX);
      requireFunction(`ctx.transaction("${name}"): the second argument`, fn);
    });
    const plan = { key: this.nextKey('step', name), name, fn };
    return this.enter((promise) => new TransactionCall<Output>(this.#run, plan, promise));
  }

  lease<Output>(
    given: string,
    block: (lease: ExecutionLease) => Output | Promise<Output>,
  ): Promise<Output> {
    const resource = checkingArguments(() => {
      requireFunction(`ctx.lease(${shown(given)}): the second argument`, block);
      return resourceOf(this.#run, given);
    });
    const plan = { key: this.nextKeyOf('lease', resource), resource, block };
    return raced(this.enter<Output>((promise) => new LeaseBlock(this.#run, plan, promise)));
  }

  scope<Output>(block: () => Output | Promise<Output>, options: ScopeOptions): Promise<Output> {
    const checked = checkingArguments(() => scopeOptions(block, options));
    const cleanup = new RunContext(this.#run, this.restored, this.#counts);
    return runScope(this.#run, block, { ...checked, cleanup });
  }

  sleep(ms: number, name = 'sleep'): Promise<void> {
    checkingArguments(() => integerOption('ctx.sleep', ms, { min: 0, max: TEN_YEARS_MS }));
    return this.#sleep(name, { ms });
  }

  sleepUntil(time: Date, name = 'sleep'): Promise<void> {
    const span = checkingArguments(() => untilOf(time));
    return this.#sleep(name, span);
  }

  spawn<Input, Output>(
    pipeline: Spawnable<Input, Output>,
    input: Input,
    options: SpawnOptions = {},
  ): Promise<Child<Output>> {
    return guardedCall(spawn(this, this.#run, { pipeline, input, options }));
  }

  call<Input, Output>(
    step: RemoteStep<Input, Output>,
    input: Input,
    options: SpawnOptions = {},
  ): Promise<Output> {
    return guardedCall(call(this, this.#run, { step, input, options }));
  }

  fanOut<Input, Output>(
    pipeline: Spawnable<Input, Output>,
    inputs: readonly Input[],
    options: SpawnOptions = {},
  ): Promise<Children<Output>> {
    return guardedCall(fanOut(this, this.#run, { pipeline, inputs, options }));
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface has a signature for each option
  receive(given: string, options: ReceiveOptions = {}): Promise<any> {
    const { span, isUpdate } = checkingArguments(() => receiveOptions(given, options));
    const name = isUpdate ? updateSignal(given) : given;
    const plan = { key: this.nextKey('signal', name), name, span };
    const promised = Promise.withResolvers<unknown>();
    const call = isUpdate
      ? this.#receiveUpdate(plan, promised)
      : new ReceiveCall(this.#run, plan, promised);
    this.#run.enter(call);
    this.#hasReceived = true;
    return call.seen(promised.promise);
  }

  #receiveUpdate(plan: SleepPlan, promised: PromiseWithResolvers<unknown>): ReceiveCall<unknown> {
    const reply = (content: ReplyContent, token: string): Promise<void> =>
      this.#reply(plan.key, content, token);
    return new ReceiveUpdateCall(this.#run, { ...plan, reply }, promised);
  }

  #reply(receive: CallKey, content: ReplyContent, token: string): Promise<void> {
    checkingArguments(() => {
      if ('rejected' in content) boundedText('reason', content.rejected, 8_192);
      else this.#run.config.payloads.check('The reply to an update', content.value);
    });
    const key = this.nextKeyOf('reply', receive);
    return this.enter((promise) => replyCall(this.#run, { key, token, content }, promise));
  }

  onQuery<Value = unknown>(name: string, answer: (value: Value) => unknown): void {
    checkingArguments(() => {
      boundedText('The name of a query', name, UPDATE_NAME_BYTES_MAX);
      requireFunction(`ctx.onQuery(${shown(name)}): the second argument`, answer);
      if (this.#run.pipeline.queries?.includes(name) === true) return;
      throw new InvalidInput(
        `ctx.onQuery: pipeline "${this.pipeline}" does not declare the query ${shown(name)}. Add it: pipeline({ queries: [${JSON.stringify(name)}] }).`,
      );
    });
    this.#run.queries.set(name, answer as (value: unknown) => unknown);
  }

  publish(name: string, value: unknown): Promise<void> {
    checkingArguments(() => {
      boundedText('The name of a published value', name, UPDATE_NAME_BYTES_MAX);
      this.#run.config.payloads.check(`The published value "${name}"`, value);
    });
    const key = this.nextKey('publish', name);
    return this.enter((promise) => publishCall(this.#run, { key, name, value }, promise));
  }

  await(
    question: AwaitArguments['question'],
    options: AwaitArguments['options'] = {},
  ): Promise<never> {
    return raced(
      guardedCall(awaitAnswers(this, this.#run, { question, options })),
    ) as Promise<never>;
  }

  checkpoint(state: unknown): Promise<void> {
    return guardedCall(this.#checkpoint(state));
  }

  /**
   * The state replaces everything recorded before it, so no call of the execution may be under way.
   */
  async #checkpoint(state: unknown): Promise<void> {
    const run = this.#run;
    try {
      assertMayCheckpoint(run);
    } catch (error) {
      // The state of the execution forbids it, whatever the argument is.
      noteRejection(error);
      throw error;
    }
    const { missingCall } = run;
    if (missingCall !== undefined) {
      // A checkpoint would forget calls that the code has not made yet.
      run.events.drifted({ ...missingCall, found: 'ctx.checkpoint' });
      return new Promise<never>(() => undefined);
    }
    run.pipeline.validateCheckpoint?.(state);
    const payload = await run.payloads.encode('A checkpoint', state, run.placeOf(CHECKPOINT));
    if (run.cancelled !== undefined) throw run.cancelled;
    const { promise, resolve } = Promise.withResolvers<void>();
    run.active(1);
    run.journal.record({
      event: { kind: 'checkpointed', body: `{"state":${payload}}` as Payload },
      stored: (at) => {
        run.beginEra(at);
        run.active(-1);
        resolve();
      },
    });
    await promise;
    this.#counts.clear();
    this.#draws = 0;
    this.#uuids = 0;
  }

  attach(name: string, content: Uint8Array | string, type?: string): Promise<void> {
    const attachment = checkingArguments(() => attachmentOf(name, content, type));
    const plan = { key: this.nextKey('attach', name), attachment };
    return this.enter((promise) => new AttachCall(this.#run, plan, promise));
  }

  continueAsNew(input: unknown): never {
    if (this.#isCleanup) {
      throw new InvalidInput(
        'ctx.continueAsNew was called in a cleanup. Nothing was written. A cancelled execution has no successor.',
      );
    }
    this.#run.compensations.assertMayForget();
    throw new ContinueAsNew(input);
  }

  setAttributes(changes: AttributeChanges): void {
    const { attributes } = this.#run;
    const changed = checkingArguments(() => changedAttributes(attributes.now, changes));
    const key = this.nextKeyOf('attributes', 'set');
    const misplaced = refuseInside(this.#run, key);
    if (misplaced !== undefined) throw misplaced;
    attributes.change(key, changed);
  }

  patched(name: string): boolean {
    const key = this.nextKey('patch', name);
    const misplaced = refuseInside(this.#run, key);
    if (misplaced !== undefined) throw misplaced;
    return isPatched(this.#run, key);
  }

  now(): Date {
    return dateOf(this.#run.now);
  }

  random(): number {
    this.#draws += 1;
    const uuid = derivedUuid(`${this.#run.idempotencyKey('random' as CallKey)}#${this.#draws}`);
    return Number.parseInt(uuid.slice(0, 8), 16) / 2 ** 32;
  }

  uuid(): string {
    this.#uuids += 1;
    return derivedUuid(`${this.#run.idempotencyKey('uuid' as CallKey)}#${this.#uuids}`);
  }

  log(message: string, data?: unknown): void {
    checkingArguments(() => {
      if (typeof message === 'string') return;
      throw new InvalidInput(`ctx.log: message must be a string; got ${shown(message)}.`);
    });
    this.#log ??= new Log(this.#run);
    this.#log.write(message, data);
  }

  progress(value: unknown): void {
    // Check in a replay too: code that catches the refusal must take the same path again.
    if (this.#run.isReplaying) {
      checkingArguments(() => this.#run.config.payloads.check('Progress', value));
      return;
    }
    const payload = checkingArguments(() =>
      this.#run.payloads.encode('Progress', value, this.#run.placeOf('progress')),
    );
    const { journal } = this.#run;
    if (!(payload instanceof Promise)) journal.report(payload);
    else payload.then((encoded) => journal.report(encoded), ignored);
  }

  /** Kind, name and occurrence: the same in every run of the same code. */
  nextKey(kind: string, name: string): CallKey {
    try {
      boundedText('The name of a call', name, NAME_BYTES_MAX);
    } catch (error) {
      noteMisuse(error);
      throw error;
    }
    return this.nextKeyOf(kind, name);
  }

  /** For names that the engine itself built. */
  nextKeyOf(kind: string, name: string): CallKey {
    const call = `${this.#isCleanup ? CLEANUP_CALL : ''}${kind}:${name}`;
    const count = (this.#counts.get(call) ?? 0) + 1;
    this.#counts.set(call, count);
    return `${call}#${this.#run.ledger.awaitsBefore(call) + count}` as CallKey;
  }

  enter<Result>(make: (promised: PromiseWithResolvers<Result>) => Call): Promise<Result> {
    const promised = Promise.withResolvers<Result>();
    this.#run.enter(make(promised));
    return promised.promise;
  }

  #sleep(name: string, span: SleepPlan['span']): Promise<void> {
    const plan = { key: this.nextKey('sleep', name), name, span };
    return raced(this.enter<void>((promise) => new SleepCall(this.#run, plan, promise)));
  }
}

function assertMayCheckpoint(run: Run): void {
  if (run.calls.size > 0 || run.activeSteps > 0) {
    throw new InvalidInput(
      `ctx.checkpoint: ${[...run.calls.keys()].join(', ') || 'a step'} is still under way, and a checkpoint would lose it. Nothing was written. Await every call first.`,
    );
  }
  run.compensations.assertMayForget();
}

/** Checks the options, even if no step will use them. */
function stepOptions<Output>(what: string, given: SagaOptions<Output>): SagaOptions<Output> {
  if (given === NO_OPTIONS) return given;
  const options = readOptions(what, given, STEP_OPTIONS);
  for (const name of ['timeoutMs', 'heartbeatTimeoutMs'] as const) {
    const ms = options[name];
    if (ms !== undefined) integerOption(name, ms, { min: 1, max: TEN_YEARS_MS });
  }
  resolveRetry(options.retry);
  if (options.circuit !== undefined) resolveCircuit(options.circuit);
  return options;
}

/** The plan without its key: the key counts only calls with valid arguments. */
function stepPlanOf<Output>(
  run: Run,
  call: {
    readonly name: string;
    readonly fn: (step: StepContext) => Output | Promise<Output>;
    readonly options: SagaOptions<Output>;
  },
): Omit<StepPlan<Output>, 'key'> {
  const { name, fn } = call;
  const options = stepOptions('ctx.step', call.options);
  const { timeoutMs, heartbeatTimeoutMs, retry, compensate } = options;
  const circuit = options.circuit === undefined ? undefined : resolveCircuit(options.circuit);
  if (typeof fn !== 'function') {
    throw new InvalidInput(
      `ctx.step(${shown(name)}): the second argument must be a function; got ${shown(fn)}.`,
    );
  }
  return {
    name,
    fn,
    retry: retry === undefined ? run.retry : resolveRetry(retry),
    timeoutMs,
    heartbeatTimeoutMs,
    circuit,
    compensation: compensate === undefined ? undefined : compensationOf(compensate, circuit),
  };
}
