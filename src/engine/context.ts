// The `ctx` of a pipeline. Every call is a durable point: the engine records its result. When the
// code runs again after a crash, a wait or a deploy, the call returns the recorded result.

import type { Attributes, Lane } from '../execution/execution.ts';
import type { Failure, RetryPolicy } from '../execution/failure.ts';
import type { ExecutionId } from '../execution/names.ts';
import type {
  AwaitItemsOptions,
  AwaitOptions,
  AwaitOutcome,
  ItemsOutcome,
  Question,
} from '../features/awaits/question-api.ts';
import type { TemplateRef } from '../features/templates/api.ts';
import type { Fence } from '../lease/fence.ts';
import type { Pipeline, RemoteStep } from './pipeline.ts';

export interface StepContext {
  /** Stable over attempts, takeovers and re-drives: pass it to services that recognise a repeated request. */
  readonly idempotencyKey: string;
  /** Orders what owners of this execution do: hand it to a guard of what only this execution writes. */
  readonly fence: Fence;
  /** Aborts when the attempt timed out, the execution was cancelled, or another worker took over. */
  readonly signal: AbortSignal;
  /** 1 for the first try. */
  readonly attempt: number;
  /** As the execution was submitted with; hand it on to what the step calls (W3C Trace Context). */
  readonly traceparent: string | undefined;
  /**
   * Throws unless the worker has authority for `marginMs` more. Call it right before an effect that takes
   * at most that long, and no two owners act at once (P2).
   */
  assertHeld(marginMs?: number): void;
}

export interface StepOptions {
  readonly retry?: RetryOptions;
  /** How long one attempt may take. By default there is no limit. */
  readonly timeoutMs?: number;
}

/** Undoes a step: runs when the execution fails, is cancelled or passes its deadline after the step. */
export type Compensate<Output> = (
  /** The result of the step; undefined when its outcome is unknown. */
  output: Output | undefined,
  undo: UndoContext,
) => unknown;

export interface UndoContext extends StepContext {
  /** `unknown`: the step failed, and an attempt of it may have had its effect all the same. */
  readonly outcome: 'done' | 'unknown';
}

export interface SagaOptions<Output> extends StepOptions {
  readonly compensate?: Compensate<Output> | CompensateOptions<Output>;
}

export interface CompensateOptions<Output> {
  readonly run: Compensate<Output>;
  readonly retry?: RetryOptions;
  readonly timeoutMs?: number;
  /** Compensations of one group run beside each other, where the last of its steps ended. */
  readonly group?: string;
}

export interface RetryOptions extends Partial<RetryPolicy> {
  /** The first rule that matches decides; without one the category of the failure does. */
  readonly rules?: readonly RetryRule[];
}

export interface RetryRule {
  /** The error's `code` or name, or a function of what was thrown. */
  readonly when: string | ((error: unknown) => boolean);
  readonly do: 'retry' | 'fail';
  readonly afterMs?: number;
}

export interface MapOptions extends StepOptions {
  /** How many run at once. Default 16. */
  readonly concurrency?: number;
}

/** The step that `ctx.map` runs for each item, and its options. */
export interface MapOver<Item, Output> extends MapOptions {
  readonly run: (item: Item, step: StepContext) => Output | Promise<Output>;
}

export type Spawnable<Input, Output> = Pipeline<Input, Output> | string | TemplateRef;

export interface SpawnOptions {
  /** Its name in the history. Default: the name of the pipeline or template. */
  readonly name?: string;
  readonly lane?: Lane;
  readonly delayMs?: number;
  readonly deadlineMs?: number;
  readonly tags?: readonly string[];
  readonly attributes?: Attributes;
  readonly concurrency?: { readonly key: string; readonly limit: number };
  readonly rate?: { readonly key: string; readonly limit: number; readonly perMs: number };
}

export interface Child<Output> {
  readonly id: ExecutionId;
  /** Its output; throws ChildFailed when it did not complete. */
  result(): Promise<Output>;
}

export type ChildOutcome<Output> =
  | { readonly status: 'completed'; readonly id: ExecutionId; readonly output: Output }
  | {
      readonly status: 'failed' | 'cancelled' | 'quarantined' | 'compensated';
      readonly id: ExecutionId;
      readonly failure?: Failure;
    };

export interface Children<Output> {
  readonly ids: readonly ExecutionId[];
  /** All outputs in the order of the inputs; throws ChildFailed for the first that did not complete. */
  results(): Promise<readonly Output[]>;
  /** How each ended, in the order of the inputs; never throws for a child's failure. */
  outcomes(): Promise<readonly ChildOutcome<Output>[]>;
}

export interface ReceiveOptions {
  /** Whole milliseconds, up to ten years. */
  readonly timeoutMs?: number;
}

export interface Context {
  readonly id: ExecutionId;
  readonly pipeline: string;
  /** For which time it was fired, when a schedule did; the same in every replay, however late it runs. */
  readonly scheduledAt: Date | undefined;
  /** As it was submitted with; its children have the same. */
  readonly traceparent: string | undefined;
  /** Aborts on cancellation and when another worker took over. */
  readonly signal: AbortSignal;
  /** The state that the last `checkpoint` saved, after a recovery; undefined in a fresh run. */
  readonly restored: unknown;

  /**
   * Runs `fn` until it succeeds, and never again once its result is recorded. Between the effect and
   * the record a crash makes it run again: use `idempotencyKey` and `fence` where that matters.
   */
  step<Output>(
    name: string,
    fn: (step: StepContext) => Output | Promise<Output>,
    options?: SagaOptions<Output>,
  ): Promise<Output>;
  /** One step per item, at most `concurrency` at once; outputs in the order of the items. */
  map<Item, Output>(
    name: string,
    items: readonly Item[],
    over: MapOver<Item, Output>,
  ): Promise<readonly Output[]>;
  /**
   * A step whose writes and whose record commit together: exactly once. `fn` gets the store's own
   * connection. On SQLite, and in memory, it must be synchronous.
   */
  transaction<Output>(
    name: string,
    fn: (connection: never) => Output | Promise<Output>,
  ): Promise<Output>;

  sleep(ms: number, name?: string): Promise<void>;
  sleepUntil(time: Date, name?: string): Promise<void>;
  /** By a template, the input is laid over its default parameters, and options over its options. */
  spawn<Input, Output>(
    pipeline: Spawnable<Input, Output>,
    input: Input,
    options?: SpawnOptions,
  ): Promise<Child<Output>>;
  /**
   * A step that another worker has the code of (`hostStep`), wherever it is: runs until it succeeds there, and
   * never again once its result is recorded. Throws StepFailed, as a step of its own does.
   */
  call<Input, Output>(
    step: RemoteStep<Input, Output>,
    input: Input,
    options?: SpawnOptions,
  ): Promise<Output>;
  /** Many children in a few commits. */
  fanOut<Input, Output>(
    pipeline: Spawnable<Input, Output>,
    inputs: readonly Input[],
    options?: SpawnOptions,
  ): Promise<Children<Output>>;
  /**
   * The next signal of that name, in the order in which they were sent. With `timeoutMs`: undefined when none has
   * come in that time, counted from when the code first asks; later ones are for the next receive.
   *
   * @example
   * const answer = await ctx.receive<{ ok: boolean }>('answer', { timeoutMs: 60_000 });
   */
  receive<Value = unknown>(name: string): Promise<Value>;
  receive<Value = unknown>(name: string, options: ReceiveOptions): Promise<Value | undefined>;

  /**
   * Asks a person or another system, and waits for the answer (`holdfast.awaits`) for as long as it takes. With
   * `items` each is answered by itself; an empty list is answered at once.
   */
  await<Value = unknown, Request = unknown>(
    asked: string | Question<Request, Value>,
    options: AwaitItemsOptions<Value, Request> & { readonly need?: 'all' },
  ): Promise<ItemsOutcome<Value>>;
  await<Value = unknown, Request = unknown>(
    asked: string | Question<Request, Value>,
    options: AwaitItemsOptions<Value, Request>,
  ): Promise<ItemsOutcome<Value, Value | undefined>>;
  await<Value = unknown, Request = unknown>(
    asked: string | Question<Request, Value>,
    options?: AwaitOptions<Value, Request>,
  ): Promise<AwaitOutcome<Value>>;

  /** Saves `state` and forgets what came before it: after a recovery the code starts with `restored`. */
  checkpoint(state: unknown): Promise<void>;
  attach(name: string, content: Uint8Array | string, type?: string): Promise<void>;
  /** Ends this execution and starts a fresh one in its place, without its history. */
  continueAsNew(input: unknown): never;

  /** The time of the last thing that happened here; the same in every replay. */
  now(): Date;
  random(): number;
  uuid(): string;

  /** Told to the observer once, not in replays. */
  log(message: string, data?: unknown): void;
  /** Shown to people while the execution runs; stored at most once a second. */
  progress(value: unknown): void;
}
