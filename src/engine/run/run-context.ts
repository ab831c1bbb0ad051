// Makes the `ctx` of a run: names each call, checks its arguments, and hands it to the run.

import type { CallKey } from '../../execution/names.ts';
import type { Asked } from '../../features/awaits/options-api.ts';
import { dateOf } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  readList,
  readOptions,
  requireFunction,
  shown,
  wholeNumber,
} from '../../support/options.ts';
import type {
  Child,
  Children,
  Context,
  MapOptions,
  ReceiveOptions,
  SagaOptions,
  Spawnable,
  SpawnOptions,
  StepContext,
} from '../context.ts';
import { ContinueAsNew } from '../continue-as-new.ts';
import { derivedUuid } from '../ids.ts';
import type { RemoteStep } from '../remote-step.ts';
import type { Call } from './call.ts';
import { AttachCall, attachmentOf } from './calls/attach.ts';
import { awaitAnswers } from './calls/await.ts';
import { checkpoint } from './calls/checkpoint.ts';
import { raced } from './calls/raced.ts';
import { ReceiveCall, timeoutOf } from './calls/receive.ts';
import { call } from './calls/remote.ts';
import { SLEEP_MS_MAX, SleepCall, type SleepPlan, untilOf } from './calls/sleep.ts';
import { fanOut, spawn } from './calls/spawning.ts';
import { StepCall } from './calls/step.ts';
import { NO_OPTIONS, STEP_OPTIONS, stepOptions, stepPlanOf } from './calls/step-plan.ts';
import { TransactionCall } from './calls/transaction.ts';
import { reportProgress } from './durability.ts';
import { guarded, guardedSignal, ignored, noteRejection } from './guarded.ts';
import { Log } from './log.ts';
import type { Run } from './run.ts';

const NAME_BYTES_MAX = 256;
const MAP_OPTIONS: readonly string[] = ['run', 'concurrency', ...STEP_OPTIONS];

export class RunContext implements Context {
  readonly #run: Run;
  /** Restored state, already decoded. */
  readonly restored: unknown;
  readonly #counts: Map<string, number> = new Map();
  #draws = 0;
  #uuids = 0;
  #hasReceived = false;
  #log: Log | undefined;

  constructor(run: Run, restored: unknown) {
    this.#run = run;
    this.restored = restored;
  }

  get id(): Context['id'] {
    return this.#run.claimed.execution.id;
  }

  get pipeline(): string {
    return this.#run.pipeline.name;
  }

  get scheduledAt(): Date | undefined {
    const { scheduled } = this.#run.claimed.execution;
    return scheduled === undefined ? undefined : dateOf(scheduled.at);
  }

  get traceparent(): string | undefined {
    return this.#run.claimed.execution.traceparent;
  }

  get signal(): AbortSignal {
    return guardedSignal(this.#run.stop.signal, this.#run);
  }

  step<Output>(
    name: string,
    fn: (step: StepContext) => Output | Promise<Output>,
    options: SagaOptions<Output> = NO_OPTIONS,
  ): Promise<Output> {
    const asked = stepPlanOf(this.#run, { name, fn, options });
    const plan = { ...asked, key: this.nextKey('step', name) };
    const promised = Promise.withResolvers<Output>();
    this.#run.enter(new StepCall<Output>(this.#run, plan, promised));
    // A receive may race with it.
    return this.#hasReceived ? raced(promised.promise) : promised.promise;
  }

  map<Item, Output>(
    name: string,
    items: readonly Item[],
    over: {
      readonly run: (item: Item, step: StepContext) => Output | Promise<Output>;
    } & MapOptions,
  ): Promise<readonly Output[]> {
    return guarded(this.#map(name, items, over));
  }

  async #map<Item, Output>(
    name: string,
    given: readonly Item[],
    over: {
      readonly run: (item: Item, step: StepContext) => Output | Promise<Output>;
    } & MapOptions,
  ): Promise<readonly Output[]> {
    const { run, concurrency = 16, ...rest } = readOptions('ctx.map', over, MAP_OPTIONS);
    wholeNumber('concurrency', concurrency, { min: 1, max: 10_000 });
    requireFunction('ctx.map: run', run);
    // As a step checks them: also where there is none.
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
            // One has failed for good: nothing more is begun.
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
    boundedText('The name of a call', name, NAME_BYTES_MAX);
    requireFunction(`ctx.transaction("${name}"): the second argument`, fn);
    const plan = { key: this.nextKey('step', name), name, fn };
    return this.enter((promise) => new TransactionCall<Output>(this.#run, plan, promise));
  }

  sleep(ms: number, name = 'sleep'): Promise<void> {
    wholeNumber('ctx.sleep', ms, { min: 0, max: SLEEP_MS_MAX });
    return this.#sleep(name, { ms });
  }

  sleepUntil(time: Date, name = 'sleep'): Promise<void> {
    return this.#sleep(name, untilOf(time));
  }

  spawn<Input, Output>(
    pipeline: Spawnable<Input, Output>,
    input: Input,
    options: SpawnOptions = {},
  ): Promise<Child<Output>> {
    return guarded(spawn(this, this.#run, { pipeline, input, options }));
  }

  call<Input, Output>(
    step: RemoteStep<Input, Output>,
    input: Input,
    options: SpawnOptions = {},
  ): Promise<Output> {
    return guarded(call(this, this.#run, { step, input, options }));
  }

  fanOut<Input, Output>(
    pipeline: Spawnable<Input, Output>,
    inputs: readonly Input[],
    options: SpawnOptions = {},
  ): Promise<Children<Output>> {
    return guarded(fanOut(this, this.#run, { pipeline, inputs, options }));
  }

  receive<Value = unknown>(name: string, options: ReceiveOptions = {}): Promise<Value> {
    const timeoutMs = timeoutOf(options);
    const plan = { key: this.nextKey('signal', name), name, timeoutMs };
    const promised = Promise.withResolvers<Value>();
    const call = new ReceiveCall<Value>(this.#run, plan, settlingOf(promised));
    this.#run.enter(call);
    this.#hasReceived = true;
    return call.seen(promised.promise);
  }

  await(asked: Asked['asked'], options: Asked['options'] = {}): Promise<never> {
    return raced(guarded(awaitAnswers(this, this.#run, { asked, options }))) as Promise<never>;
  }

  checkpoint(state: unknown): Promise<void> {
    return guarded(this.#checkpoint(state));
  }

  async #checkpoint(state: unknown): Promise<void> {
    await checkpoint(this.#run, state);
    this.#counts.clear();
    this.#draws = 0;
    this.#uuids = 0;
  }

  attach(name: string, content: Uint8Array | string, type?: string): Promise<void> {
    const attachment = attachmentOf(name, content, type);
    const plan = { key: this.nextKey('attach', name), attachment };
    return this.enter((promise) => new AttachCall(this.#run, plan, promise));
  }

  continueAsNew(input: unknown): never {
    this.#run.saga.assertMayForget();
    throw new ContinueAsNew(input);
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
    if (typeof message !== 'string') {
      throw new InvalidInput(`ctx.log: message must be a string; got ${shown(message)}.`);
    }
    this.#log ??= new Log(this.#run);
    this.#log.write(message, data);
  }

  progress(value: unknown): void {
    // Refused in a replay too: code that catches it must not go another way.
    if (this.#run.isReplaying) {
      this.#run.config.payloads.check('Progress', value);
      return;
    }
    const payload = this.#run.payloads.encode('Progress', value, this.#run.placeOf('progress'));
    if (!(payload instanceof Promise)) reportProgress(this.#run, payload);
    else payload.then((encoded) => reportProgress(this.#run, encoded), ignored);
  }

  /** Kind, name and occurrence: the same in every run of the same code. */
  nextKey(kind: string, name: string): CallKey {
    return this.nextKeyOf(kind, boundedText('The name of a call', name, NAME_BYTES_MAX));
  }

  /** For names that were made here. */
  nextKeyOf(kind: string, name: string): CallKey {
    const call = `${kind}:${name}`;
    const count = (this.#counts.get(call) ?? 0) + 1;
    this.#counts.set(call, count);
    return `${call}#${this.#run.ledger.awaitsBefore(call) + count}` as CallKey;
  }

  enter<Result>(
    make: (promise: { resolve(result: Result): void; reject(error: Error): void }) => Call,
  ): Promise<Result> {
    const promised = Promise.withResolvers<Result>();
    this.#run.enter(make(settlingOf(promised)));
    return promised.promise;
  }

  #sleep(name: string, span: SleepPlan['span']): Promise<void> {
    const plan = { key: this.nextKey('sleep', name), name, span };
    return raced(this.enter<void>((promise) => new SleepCall(this.#run, plan, promise)));
  }
}

function settlingOf<Result>({ promise, resolve, reject }: PromiseWithResolvers<Result>): {
  resolve(result: Result): void;
  reject(error: Error): void;
} {
  return {
    resolve,
    reject(error: Error): void {
      promise.catch(noteRejection);
      reject(error);
    },
  };
}
