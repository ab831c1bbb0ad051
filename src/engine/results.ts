// Waits for executions to end. All waiting callers of a process share one query at a time. A wakeup
// triggers the query at once; polling covers lost wakeups.

import type { ExecutionRecord } from '../execution/execution.ts';
import type { Failure } from '../execution/failure.ts';
import { Continuations, parseBody } from '../execution/history.ts';
import { DEFAULT_PROJECT, type ExecutionId } from '../execution/names.ts';
import { describeExecutionRefusal } from '../execution/refusal.ts';
import type { Outcome } from '../store/contract/execution-store.ts';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import { readOptions, requireMethods } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import { ExecutionFailed } from './failures.ts';
import { OUTPUT } from './values/place.ts';

const POLL_MS = 1_000;
const BATCH = 1_000;
/** Above this many waiting callers, all wakeups within a pause share one query. */
const FEW = 100;
const MANY_PAUSE_MS = 100;

/** The body of the event that ends an execution. */
interface EndBody {
  readonly out?: object;
  readonly failure?: Failure;
  readonly continuedAs?: ExecutionId;
}

/** Lets the caller stop waiting for an execution. */
export interface Waiting {
  readonly signal?: AbortSignal;
}

interface Waiter {
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

export function signalFrom(waiting: Waiting): AbortSignal | undefined {
  const { signal } = readOptions('result', waiting, ['signal']);
  if (signal === undefined) return undefined;
  requireMethods('result: signal', signal, ['addEventListener', 'removeEventListener']);
  return signal;
}

export class Results {
  readonly #config: EngineConfig;
  readonly #waiting: Map<ExecutionId, Set<Waiter>> = new Map();
  readonly #unlisten: () => void;
  #isPolling = false;
  #isPollDue = false;
  #isNotified = false;
  #cancelPoll: (() => void) | undefined;

  constructor(config: EngineConfig) {
    this.#config = config;
    this.#unlisten = config.store.executions.onWakeup(() => this.#onWakeup());
  }

  /** An execution ended in this process, so its waiting callers need no query. */
  endedHere(outcome: Outcome): void {
    if (this.#waiting.size > 0) this.#settle(outcome);
  }

  /** The output, when the execution or its continuation completes. Throws ExecutionFailed. */
  async output<Output>(first: ExecutionId, signal?: AbortSignal): Promise<Output> {
    let continuations: Continuations | undefined;
    for (let id = first; ; ) {
      const { status, event } = await this.ended(id, signal);
      const { failure, out, continuedAs } = parseBody<EndBody>(event.body);
      if (status !== 'completed') {
        throw new ExecutionFailed({ id, status, ...(failure === undefined ? {} : { failure }) });
      }
      if (continuedAs === undefined) {
        return this.#decoded(id, out ?? {}) as Output | Promise<Output>;
      }
      continuations ??= new Continuations(first);
      id = continuations.step(continuedAs);
    }
  }

  /**
   * Sealed and large values belong to a project, and an outcome does not name it, so read the
   * record first.
   */
  #decoded(id: ExecutionId, out: object): unknown {
    const { payloads } = this.#config;
    const place = { owners: [id], position: OUTPUT };
    return 'ref' in out || 'at' in out
      ? this.requireKnown(id).then(({ project }) => payloads.of(project).decodeEnvelope(out, place))
      : payloads.of(DEFAULT_PROJECT).decodeEnvelope(out, place);
  }

  /** Throws instead of waiting for an execution that does not exist. */
  async requireKnown(id: ExecutionId): Promise<ExecutionRecord> {
    const record = await this.#config.store.executions.read(id);
    if (record !== undefined) return record;
    const why = 'execution-unknown';
    throw new Fault(why, describeExecutionRefusal({ why, id }));
  }

  /** Resolves with the outcome. Rejects when the signal aborts first. */
  ended(id: ExecutionId, signal?: AbortSignal): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const waiting: Waiter = {
        resolve: (outcome) => {
          signal?.removeEventListener('abort', abort);
          resolve(outcome);
        },
        reject,
      };
      const abort = (): void => {
        this.#forget(id, waiting);
        reject(signal?.reason);
      };
      if (signal?.aborted === true) return reject(signal.reason);
      signal?.addEventListener('abort', abort, { once: true });
      const all = this.#waiting.get(id) ?? new Set();
      all.add(waiting);
      this.#waiting.set(id, all);
      this.#poll();
    });
  }

  close(): void {
    this.#unlisten();
    this.#cancelPoll?.();
    const closed = new StoreUnavailable(
      'Holdfast was closed before the execution ended. The execution continues in other workers. Read its result from an open Holdfast.',
    );
    for (const all of this.#waiting.values()) for (const each of all) each.reject(closed);
    this.#waiting.clear();
  }

  #forget(id: ExecutionId, waiting: Waiter): void {
    const all = this.#waiting.get(id);
    all?.delete(waiting);
    if (all?.size === 0) this.#waiting.delete(id);
  }

  /**
   * Waits for the end of this turn: by then `endedHere` has settled the executions that ended in
   * this process.
   */
  #onWakeup(): void {
    if (this.#waiting.size === 0 || this.#isNotified) return;
    this.#isNotified = true;
    const poll = (): void => {
      this.#isNotified = false;
      this.#poll();
    };
    const { timers } = this.#config;
    if (this.#waiting.size <= FEW) timers.soon(poll);
    else timers.after(MANY_PAUSE_MS, poll);
  }

  #poll(): void {
    if (this.#waiting.size === 0) return;
    if (this.#isPolling) {
      this.#isPollDue = true;
      return;
    }
    this.#isPolling = true;
    this.#cancelPoll?.();
    this.#readOutcomes().then(
      () => this.#pollEnded(),
      () => this.#pollEnded(),
    );
  }

  #pollEnded(): void {
    this.#isPolling = false;
    if (this.#isPollDue) {
      this.#isPollDue = false;
      this.#config.timers.soon(() => this.#poll());
    } else if (this.#waiting.size > 0) {
      this.#cancelPoll = this.#config.timers.after(POLL_MS, () => this.#poll());
    }
  }

  async #readOutcomes(): Promise<void> {
    const ids = [...this.#waiting.keys()];
    for (let from = 0; from < ids.length; from += BATCH) {
      try {
        const batch = ids.slice(from, from + BATCH);
        const outcomes = await this.#config.store.executions.outcomes(batch);
        for (const outcome of outcomes) this.#settle(outcome);
      } catch (fault) {
        if (fault instanceof StoreUnavailable || fault instanceof OutcomeUnknown) return;
        for (const all of this.#waiting.values()) for (const each of all) each.reject(fault);
        this.#waiting.clear();
      }
    }
  }

  #settle(outcome: Outcome): void {
    const all = this.#waiting.get(outcome.id);
    this.#waiting.delete(outcome.id);
    for (const each of all ?? []) each.resolve(outcome);
  }
}
