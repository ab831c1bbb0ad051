// The `ctx` of a pipeline. Every call is a durable point: the engine records its result. When the
// code runs again after a crash, a wait or a deploy, the call returns the recorded result.

import type { AttributeChanges, Attributes, Lane } from '../execution/execution.ts';
import type { Failure, RetryPolicy } from '../execution/failure.ts';
import type { ExecutionId } from '../execution/names.ts';
import type {
  AwaitItemsOptions,
  AwaitOptions,
  AwaitOutcome,
  ItemsOutcome,
  Question,
  Startable,
} from '../features/awaits/question-api.ts';
import type { TemplateRef } from '../features/templates/api.ts';
import type { Fence } from '../lease/fence.ts';
import type { Pipeline, RemoteStep } from './pipeline.ts';

/**
 * Identity, fence and cancellation of the step attempt that runs now.
 *
 * @example
 * await ctx.step('charge', async (step) => {
 *   step.assertHeld(2_000);
 *   return pay({ key: step.idempotencyKey, signal: step.signal });
 * });
 */
export interface StepContext<Details = unknown> {
  /**
   * The same for every attempt, takeover and re-drive of this step. Pass it to services that
   * recognise repeated requests.
   */
  readonly idempotencyKey: string;
  /**
   * The fence of the worker's claim. A newer owner has a greater one. Pass it to a guard of a
   * resource that only this execution writes.
   */
  readonly fence: Fence;
  /**
   * Aborts when the attempt times out or is silent for too long, the execution is cancelled, or
   * another worker takes over.
   */
  readonly signal: AbortSignal;
  /** The number of this attempt. The first one is 1. */
  readonly attempt: number;
  /**
   * The W3C trace context that the execution was submitted with. Pass it on to services that the
   * step calls.
   */
  readonly traceparent: string | undefined;
  /**
   * Throws a `Fault` with code `claim-not-held` unless the worker has authority for `marginMs` more
   * milliseconds (default 0). Call it right before an effect that takes at most that long; then two
   * owners never act at once.
   */
  assertHeld(marginMs?: number): void;
  /**
   * Reports that a long attempt still works, and how far it is.
   *
   * The store keeps the last `details` at most a second later, for the next attempt and for
   * operators. Without `details`, the earlier ones stay. Details may have 16,384 bytes; keep a
   * position, not a result. Throws `InvalidInput` if they cannot be stored, and the reason of
   * `signal` once it has aborted. After the attempt has ended, it throws a `Fault` with code
   * `attempt-over`.
   *
   * @example
   * await ctx.step(
   *   'import',
   *   async (step: StepContext<{ row: number }>) => {
   *     for (let row = (step.heartbeatDetails?.row ?? 0) + 1; row <= 1_000; row += 1) {
   *       await fetch(`https://example.org/rows/${row}`, { signal: step.signal });
   *       step.heartbeat({ row });
   *     }
   *   },
   *   { heartbeatTimeoutMs: 30_000 },
   * );
   */
  heartbeat(details?: Details): void;
  /**
   * The last details that an earlier attempt gave to `heartbeat`, on this worker or another one.
   * Undefined if there are none. It does not change during the attempt.
   */
  readonly heartbeatDetails: Details | undefined;
}

/** Options of one step. */
export interface StepOptions {
  /** How failed attempts are retried. By default, the pipeline's `retry`, then `DEFAULT_RETRY`. */
  readonly retry?: RetryOptions;
  /**
   * Time limit of one attempt in milliseconds. By default there is none. An attempt that times out
   * counts as a failure of category `unknown`.
   */
  readonly timeoutMs?: number;
  /**
   * The longest silence of an attempt in milliseconds, from its start or its last
   * `step.heartbeat()`. By default there is no limit. A silent attempt counts as a failure of
   * category `unknown`.
   */
  readonly heartbeatTimeoutMs?: number;
  /**
   * The circuit of the service that the step calls, or its name. Steps with one name share it, in all
   * executions of the project that this process runs. By default there is none.
   *
   * After repeated failures the circuit opens: attempts wait instead of calling the service, and
   * the wait uses up no attempt. Then one attempt tries the service, and the others follow if it
   * succeeds.
   */
  readonly circuit?: string | CircuitOptions;
}

/**
 * A circuit and when it opens. Failures of category `permanent` do not count, because the service
 * replied.
 *
 * @example
 * const bank: CircuitOptions = { name: 'bank', failuresMax: 3, openMs: 10_000 };
 *
 * await ctx.step('charge', () => fetch('https://bank.example.org/charges'), { circuit: bank });
 */
export interface CircuitOptions {
  /** The name, such as that of the service. At most 256 bytes. */
  readonly name: string;
  /** Failed attempts in a row that open it, 1 to 1,000. Default 5. */
  readonly failuresMax?: number;
  /** The longest time in which these failures happen, in milliseconds. Default 60,000. */
  readonly windowMs?: number;
  /** How long it stays open before one attempt tries again, in milliseconds. Default 30,000. */
  readonly openMs?: number;
}

/**
 * A function that undoes a step. It runs when the execution fails, is cancelled or passes its
 * deadline after the step.
 */
export type Compensate<Output> = (
  /** The step's result; undefined if its outcome is unknown. */
  output: Output | undefined,
  undo: UndoContext,
) => unknown;

/** The context of a compensation: that of a step, and the outcome of the step that it undoes. */
export interface UndoContext extends StepContext {
  /**
   * `done`: the step succeeded. `unknown`: it failed, but one of its attempts may have had its
   * effect.
   */
  readonly outcome: 'done' | 'unknown';
}

/** Options of `ctx.step`, with the function that undoes the step. */
export interface SagaOptions<Output> extends StepOptions {
  /** Undoes the step if the execution does not complete. By default nothing undoes it. */
  readonly compensate?: Compensate<Output> | CompensateOptions<Output>;
}

/** A compensation with options of its own. */
export interface CompensateOptions<Output> {
  /** Undoes the step. Runs until it succeeds or its retries are used up. */
  readonly run: Compensate<Output>;
  /** How failed attempts of the compensation are retried. Default `DEFAULT_RETRY`. */
  readonly retry?: RetryOptions;
  /** Time limit of one attempt in milliseconds. By default there is none. */
  readonly timeoutMs?: number;
  /** The longest silence of an attempt in milliseconds. By default there is no limit. */
  readonly heartbeatTimeoutMs?: number;
  /**
   * Compensations of one group run side by side, in the place of the group's last step. By default
   * compensations run one after the other, the last step's first.
   */
  readonly group?: string;
}

/**
 * A retry policy and rules for certain errors. Omitted fields have the values of `DEFAULT_RETRY`.
 */
export interface RetryOptions extends Partial<RetryPolicy> {
  /** The first rule that matches an error decides. If none does, the failure's category decides. */
  readonly rules?: readonly RetryRule[];
}

/** Decides whether certain errors are retried. */
export interface RetryRule {
  /** The error's `code` or `name`, or a function of the thrown value. */
  readonly when: string | ((error: unknown) => boolean);
  /** `retry`: try again. `fail`: give up. */
  readonly do: 'retry' | 'fail';
  /**
   * Milliseconds to wait before the next attempt, up to 30 days. By default the policy's backoff.
   */
  readonly afterMs?: number;
}

/** Options of the steps that `ctx.map` runs. */
export interface MapOptions extends StepOptions {
  /** Steps that run at once, 1 to 10,000. Default 16. */
  readonly concurrency?: number;
}

/** The step that `ctx.map` runs for each item, and its options. */
export interface MapOver<Item, Output> extends MapOptions {
  /** The step's code. Gets the item and the step's context. */
  readonly run: (item: Item, step: StepContext) => Output | Promise<Output>;
}

/** The target of a child: a pipeline, the name of one, or a template. */
export type Spawnable<Input, Output> = Pipeline<Input, Output> | string | TemplateRef;

/** Options of a child execution. */
export interface SpawnOptions {
  /** The child's name in the history. Default: the name of the pipeline or template. */
  readonly name?: string;
  /**
   * A key of the child within the project, for `ctx.spawn` only. Others then reach the child as
   * `key:` and the key. If an execution has the key, no child starts, and `result` throws
   * `ChildFailed` with code `key-in-use`. At most 256 bytes. Default none.
   */
  readonly key?: string;
  /**
   * What happens to the child if the parent ends first. `cancel`: it is cancelled. `abandon`: it goes
   * on. Default `cancel`.
   */
  readonly onParentEnd?: 'cancel' | 'abandon';
  /** The priority class. Default: that of the parent. */
  readonly lane?: Lane;
  /** Milliseconds before the child may start, up to ten years. Default 0. */
  readonly delayMs?: number;
  /**
   * Milliseconds from now until the child fails if it has not ended. By default there is no
   * deadline.
   */
  readonly deadlineMs?: number;
  /** Up to 64 tags to filter lists by. Default none. */
  readonly tags?: readonly string[];
  /** Up to 64 search attributes. Default none. */
  readonly attributes?: Attributes;
  /** At most `limit` started and unfinished executions of the project share this `key`. */
  readonly concurrency?: { readonly key: string; readonly limit: number };
  /**
   * At most `limit` executions of the project with this `key` start within `perMs` milliseconds.
   */
  readonly rate?: { readonly key: string; readonly limit: number; readonly perMs: number };
}

/**
 * A child execution that `ctx.spawn` has started.
 *
 * @example
 * const child = await ctx.spawn('send-mail', { to: 'ada@example.org' });
 * await child.result();
 */
export interface Child<Output> {
  /** The id of the child. */
  readonly id: ExecutionId;
  /** Waits for the child's output. Throws `ChildFailed` if the child does not complete. */
  result(): Promise<Output>;
  /**
   * Sends the child a signal, once. Its code gets the signal from `ctx.receive(name)`. Resolves to
   * true when the signal is stored, or to false if the child has ended.
   *
   * @example
   * await child.signal('paid', { amount: 4200 });
   */
  signal(name: string, value?: unknown): Promise<boolean>;
  /**
   * Cancels the child, as `holdfast.cancel` does. Resolves to false if the child has ended. It does
   * not wait for the child's end; `result` does.
   */
  cancel(reason?: string): Promise<boolean>;
}

/**
 * How a child ended: `completed` with its `output`, or another `status` with its `failure`. `id` is
 * the child's.
 */
export type ChildOutcome<Output> =
  | { readonly status: 'completed'; readonly id: ExecutionId; readonly output: Output }
  | {
      readonly status: 'failed' | 'cancelled' | 'quarantined' | 'compensated';
      readonly id: ExecutionId;
      readonly failure?: Failure;
    };

/**
 * The child executions that `ctx.fanOut` has started.
 *
 * @example
 * const children = await ctx.fanOut('resize', ['a.png', 'b.png']);
 * const outcomes = await children.outcomes();
 */
export interface Children<Output> {
  /** The ids of the children, in the order of the inputs. */
  readonly ids: readonly ExecutionId[];
  /**
   * Waits for all outputs, in the order of the inputs. Throws `ChildFailed` for the first child
   * that does not complete.
   */
  results(): Promise<readonly Output[]>;
  /**
   * Waits until every child has ended, in the order of the inputs. Never throws because a child
   * failed.
   */
  outcomes(): Promise<readonly ChildOutcome<Output>[]>;
}

/**
 * The lease of a block of `ctx.lease`.
 *
 * @example
 * await ctx.lease('inventory/17', async (lease) => {
 *   await ctx.step('reserve', async () => {
 *     lease.assertHeld(2_000);
 *     await fetch('https://stock.example/17', { method: 'PUT', body: String(lease.fence) });
 *   });
 * });
 */
export interface ExecutionLease {
  /** The resource, as it was passed to `ctx.lease`. */
  readonly key: string;
  /**
   * The fence of the current term. Read it inside the step that uses it: after a wait inside the
   * block, the execution holds the lease under a greater one. Pass it to a guard of the resource.
   */
  readonly fence: Fence;
  /** Aborts when the lease is lost, the execution is cancelled, or another worker takes over. */
  readonly signal: AbortSignal;
  /** Returns the milliseconds of authority left, at most; zero in a replay of an ended block. */
  remainingMs(): number;
  /**
   * Throws `LeaseNotHeld` unless authority lasts at least `marginMs` more milliseconds (default 0).
   * Call it right before an effect that takes at most that long.
   */
  assertHeld(marginMs?: number): void;
}

/** The cleanup of `ctx.scope`. */
export interface ScopeOptions {
  /**
   * Runs after the block if the execution is cancelled in it. Use the calls of `cleanup`: those of
   * `ctx` throw `error`. If it throws, the execution fails.
   */
  readonly onCancel: (cleanup: CleanupContext, error: Error) => unknown;
  /**
   * Milliseconds for cleanups, from the cancel on, up to ten years. Default 300,000. If several
   * scopes are open, the longest limit applies.
   */
  readonly cleanupMs?: number;
}

/** The `ctx` of a cleanup. */
export type CleanupContext = Omit<
  Context,
  'scope' | 'await' | 'checkpoint' | 'continueAsNew' | 'restored'
>;

/**
 * An update: a signal whose sender waits for a reply. Reply to it or reject it, once.
 *
 * @example
 * const update = await ctx.receive<{ item: string }>('add', { update: true });
 * if (update.value.item === '') await update.reject('The item has no name.');
 * else await update.reply({ items: 1 });
 */
export interface Update<Value = unknown> {
  /** The value that the sender passed. */
  readonly value: Value;
  /** Stores the reply, which the sender gets. Throws `InvalidInput` after a reply or a rejection. */
  reply(value?: unknown): Promise<void>;
  /** Rejects the update. The sender gets `reason`. Throws `InvalidInput` as `reply` does. */
  reject(reason: string): Promise<void>;
}

/** Options of `ctx.receive`. */
export interface ReceiveOptions {
  /** True: receives an update instead of a signal. Default false. */
  readonly update?: boolean;
  /**
   * Milliseconds to wait, up to ten years, counted from the first time that the code asks. By
   * default it waits for as long as it takes.
   */
  readonly timeoutMs?: number;
}

/**
 * The `ctx` of a pipeline: durable calls whose results are recorded.
 *
 * After a crash, a wait or a deploy the code runs again from its beginning, and recorded calls
 * return their recorded results. So the code must make the same calls in the same order. Calls are
 * identified by kind, name and occurrence; if history has another call, the execution is blocked.
 * Names have at most 256 bytes. Calls inside a step throw `InvalidInput`.
 *
 * @example
 * const order = pipeline({
 *   name: 'order',
 *   run: async (ctx: Context, input: { item: string }) => {
 *     const payment = await ctx.step('charge', (step) => charge(input.item, step.idempotencyKey));
 *     await ctx.sleep(60_000);
 *     await ctx.step('ship', () => ship(input.item));
 *     return payment;
 *   },
 * });
 */
export interface Context {
  /** The id of the execution. */
  readonly id: ExecutionId;
  /** The name of the pipeline. */
  readonly pipeline: string;
  /**
   * The time for which a schedule fired the execution; undefined if none did. It stays the same in
   * every replay, however late the execution runs.
   */
  readonly scheduledAt: Date | undefined;
  /** The search attributes, with the changes that the code has made so far. */
  readonly attributes: Attributes;
  /** The tags that the execution was submitted with. */
  readonly tags: readonly string[];
  /** When the execution was submitted. */
  readonly submittedAt: Date;
  /** The id of the execution that started this one; undefined if none did. */
  readonly parent: ExecutionId | undefined;
  /** The W3C trace context that the execution was submitted with. Its children inherit it. */
  readonly traceparent: string | undefined;
  /** Aborts when the execution is cancelled or another worker takes over. */
  readonly signal: AbortSignal;
  /** The state of the last `ctx.checkpoint`, if there was one; otherwise undefined. */
  readonly restored: unknown;

  /**
   * Runs `fn` until it succeeds, records the result and returns it.
   *
   * A crash between the effect and the record makes `fn` run again. Use `step.idempotencyKey` or
   * `step.fence` where that matters. Throws `StepFailed` if the retries are used up or the failure
   * is permanent, and `ExecutionCancelled` if the execution was cancelled.
   *
   * @example
   * const user = await ctx.step('load user', () => db.load(input.id), { timeoutMs: 5_000 });
   */
  step<Output, Details = unknown>(
    name: string,
    fn: (step: StepContext<Details>) => Output | Promise<Output>,
    options?: SagaOptions<Output>,
  ): Promise<Output>;
  /**
   * Runs one step per item, at most `over.concurrency` at once (default 16), and returns the
   * outputs in the order of the items. Throws `StepFailed` for the first that fails, and starts no
   * more.
   *
   * @example
   * const sizes = await ctx.map('resize', files, { run: (file) => resize(file), concurrency: 4 });
   */
  map<Item, Output>(
    name: string,
    items: readonly Item[],
    over: MapOver<Item, Output>,
  ): Promise<readonly Output[]>;
  /**
   * Runs a step whose writes commit together with its record: exactly once.
   *
   * `fn` gets a connection of the store: of `pg` on PostgreSQL, of `node:sqlite` on SQLite and in
   * memory. There `fn` must be synchronous. If `fn` throws, nothing is written and the step fails
   * without retries. A worker without the store itself throws a `Fault` with code `not-remote`.
   *
   * @example
   * import type { ClientBase } from 'pg';
   *
   * await ctx.transaction('book', async (connection: ClientBase) => {
   *   await connection.query('insert into bookings (id) values ($1)', [ctx.id]);
   * });
   */
  transaction<Output>(
    name: string,
    fn: (connection: never) => Output | Promise<Output>,
  ): Promise<Output>;

  /**
   * Runs `block` while the execution holds the lease of `resource`, and returns its result. The
   * resource is a lease key of the execution's project.
   *
   * The worker waits for the lease, and holds it until the block ends. A call inside the block that
   * waits may release the lease; the block continues when the execution holds it again, under a
   * greater fence. Throws `InvalidInput` inside a block of the same resource, and a `Fault` with
   * code `lease-refused` if the key was retired.
   *
   * @example
   * await ctx.lease('inventory/17', async (lease) => {
   *   await ctx.step('reserve', async () => {
   *     await fetch('https://stock.example/17', { method: 'PUT', body: String(lease.fence) });
   *   });
   * });
   */
  lease<Output>(
    resource: string,
    block: (lease: ExecutionLease) => Output | Promise<Output>,
  ): Promise<Output>;

  /**
   * Runs `block`, and `onCancel` after it if the execution is cancelled meanwhile.
   *
   * The cancel reaches the code also while it waits: its pending calls throw `ExecutionCancelled`.
   * After the cleanup, `scope` throws what the block threw, and the execution ends as cancelled. A
   * block that catches the error and returns has no cleanup.
   *
   * @example
   * await ctx.scope(
   *   async () => {
   *     await ctx.step('reserve', () => reserve());
   *     await ctx.receive('paid');
   *   },
   *   { onCancel: (cleanup) => cleanup.step('release', () => release()) },
   * );
   */
  scope<Output>(block: () => Output | Promise<Output>, options: ScopeOptions): Promise<Output>;

  /**
   * Waits for `ms` milliseconds, up to ten years. `name` is its name in the history (default
   * `sleep`).
   *
   * Waits longer than `parkAfterMs` occupy no worker and survive restarts.
   */
  sleep(ms: number, name?: string): Promise<void>;
  /**
   * Waits until `time`; returns at once if that has passed. `name` is its name in the history
   * (default `sleep`). Throws `InvalidInput` if `time` is not a valid Date.
   */
  sleepUntil(time: Date, name?: string): Promise<void>;
  /**
   * Starts a child execution and returns without waiting for its end.
   *
   * With a template, `input` is merged over its default parameters and `options` over its options.
   */
  spawn<Input, Output>(
    pipeline: Spawnable<Input, Output>,
    input: Input,
    options?: SpawnOptions,
  ): Promise<Child<Output>>;
  /**
   * Runs a step whose code another worker hosts with `hostStep`, and returns its recorded result.
   *
   * Throws `StepFailed` if it fails there for good.
   *
   * @example
   * const thumbnail = remoteStep<string, string>({ name: 'thumbnail' });
   * const url = await ctx.call(thumbnail, 'a.png');
   */
  call<Input, Output>(
    step: RemoteStep<Input, Output>,
    input: Input,
    options?: SpawnOptions,
  ): Promise<Output>;
  /** Starts one child per input, in few commits, and returns without waiting for their ends. */
  fanOut<Input, Output>(
    pipeline: Spawnable<Input, Output>,
    inputs: readonly Input[],
    options?: SpawnOptions,
  ): Promise<Children<Output>>;
  /**
   * Waits for the next signal with this name, in the order in which they were sent.
   *
   * With `timeoutMs`, returns undefined if none arrives in time; a later signal is kept for the
   * next receive. With `update`, waits for an update of this name, whose sender waits for a reply.
   *
   * @example
   * const answer = await ctx.receive<{ ok: boolean }>('answer', { timeoutMs: 60_000 });
   */
  receive<Value = unknown>(name: string): Promise<Value>;
  /** With `update`, waits for an update of this name. */
  receive<Value = unknown>(
    name: string,
    options: { readonly update: true },
  ): Promise<Update<Value>>;
  /** With `update` and `timeoutMs`, returns undefined if no update arrives in time. */
  receive<Value = unknown>(
    name: string,
    options: { readonly update: true; readonly timeoutMs: number },
  ): Promise<Update<Value> | undefined>;
  receive<Value = unknown>(name: string, options: ReceiveOptions): Promise<Value | undefined>;

  /**
   * Asks a person or another system, and waits for the answer that `holdfast.awaits` takes.
   *
   * With `items`, each item has an answer of its own, and `need` sets how many settle the await
   * (default `all`); an empty list settles at once. A question with a schema or a projector must be
   * declared in the pipeline's `awaits`; otherwise this throws `InvalidInput`.
   *
   * @example
   * const outcome = await ctx.await<{ ok: boolean }>('approve', { timeoutMs: 86_400_000 });
   * if (outcome.kind === 'answered' && outcome.value.ok) await ctx.step('pay', () => pay());
   */
  await<
    Value = unknown,
    Request = unknown,
    const Reminded extends readonly Startable[] = readonly Startable[],
    const Escalated extends readonly Startable[] = readonly Startable[],
  >(
    question: string | Question<Request, Value>,
    options: AwaitItemsOptions<Value, Request, Reminded, Escalated> & { readonly need?: 'all' },
  ): Promise<ItemsOutcome<Value>>;
  await<
    Value = unknown,
    Request = unknown,
    const Reminded extends readonly Startable[] = readonly Startable[],
    const Escalated extends readonly Startable[] = readonly Startable[],
  >(
    question: string | Question<Request, Value>,
    options: AwaitItemsOptions<Value, Request, Reminded, Escalated>,
  ): Promise<ItemsOutcome<Value, Value | undefined>>;
  await<
    Value = unknown,
    Request = unknown,
    const Reminded extends readonly Startable[] = readonly Startable[],
    const Escalated extends readonly Startable[] = readonly Startable[],
  >(
    question: string | Question<Request, Value>,
    options?: AwaitOptions<Value, Request, Reminded, Escalated>,
  ): Promise<AwaitOutcome<Value>>;

  /**
   * Saves `state` and discards the history before it. After a recovery the code starts with
   * `ctx.restored`.
   *
   * Throws `InvalidInput` while another call is under way, or if a step that completed has a
   * compensation.
   */
  checkpoint(state: unknown): Promise<void>;
  /**
   * Stores a file with the execution. A second one with the same `name` replaces the first. `type`
   * is its media type.
   */
  attach(name: string, content: Uint8Array | string, type?: string): Promise<void>;
  /**
   * Registers the handler of queries of this name (`holdfast.query`). A later handler of the same
   * name replaces it.
   *
   * `answer` gets the value of the query and returns what the code knows. It runs in a replay of the
   * recorded calls, possibly elsewhere, so it must not be async, change anything or call `ctx`. Throws
   * `InvalidInput` unless the pipeline declares the name in `queries`.
   *
   * @example
   * ctx.onQuery('status', () => ({ packed }));
   */
  onQuery<Value = unknown>(name: string, answer: (value: Value) => unknown): void;
  /**
   * Publishes a value under a name, for others to read or to wait for (`holdfast.published`). A later
   * value of the same name replaces it. At most 200 bytes of name.
   *
   * @example
   * await ctx.publish('status', { packed: 3 });
   */
  publish(name: string, value: unknown): Promise<void>;
  /**
   * Changes search attributes, so that lists find the execution by its state. `null` or `undefined`
   * removes one; others stay. The store has the change with the next event, or within a second.
   *
   * Names, values and number are limited as at submit; other attributes throw `InvalidInput`, and so
   * does a call inside a step. `ctx.continueAsNew` keeps the attributes.
   *
   * @example
   * ctx.setAttributes({ stage: 'packing', hold: null });
   */
  setAttributes(changes: AttributeChanges): void;
  /**
   * Ends this execution and starts a new one of the same pipeline with `input` and an empty
   * history.
   *
   * It throws to end the code; do not catch it. Throws `InvalidInput` if a step that completed has
   * a compensation.
   */
  continueAsNew(input: unknown): never;

  /**
   * Returns true, unless this execution has already gone past this place in code without the patch.
   * So new executions take the new branch, and old ones replay the old one. Each call decides for
   * itself, and a replay gets the same result.
   *
   * You can remove the call with the old branch once no open execution needs it. A preflight of the
   * code without it finds those. Throws `InvalidInput` inside a step.
   *
   * @example
   * if (ctx.patched('discount')) await ctx.step('discount', () => 10);
   */
  patched(name: string): boolean;

  /**
   * Returns the time of the latest result that the code got: the same in every replay. Use it in
   * place of `Date.now()`.
   */
  now(): Date;
  /**
   * Returns a number from 0 up to 1: the same in every replay. Use it in place of `Math.random()`.
   */
  random(): number;
  /** Returns a UUID: the same in every replay. Use it in place of `crypto.randomUUID()`. */
  uuid(): string;

  /**
   * Writes a line to the observer and to the history, once; replays do not write it again.
   *
   * The history keeps 999 lines per claim and 4,096 characters of each message. Throws
   * `InvalidInput` if `message` is not a string.
   */
  log(message: string, data?: unknown): void;
  /**
   * Shows `value` to operators while the execution runs. The store writes it at most once a second.
   */
  progress(value: unknown): void;
}
