// Waits for executions to end. Executions that end in this process settle their callers without a
// query. For all others, waiting callers share one query at a time. A wakeup triggers it at once,
// unless the wakeup names the executions that ended, and none of them has a caller left. Polling
// covers lost wakeups.

import type { ExecutionRecord } from '../execution/execution.ts';
import type { Failure } from '../execution/failure.ts';
import { Continuations, parseBody } from '../execution/history.ts';
import { DEFAULT_PROJECT, type ExecutionId, parseProject } from '../execution/names.ts';
import { describeExecutionRefusal } from '../execution/refusal.ts';
import type { WakeupCause } from '../execution/wakeups.ts';
import type { Outcome } from '../store/contract/execution-reads.ts';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import { readOptions, signalOption } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import { ExecutionFailed } from './failures.ts';
import { OUTPUT } from './values/place.ts';

const POLL_MS = 1_000;
/** The time until the first poll for an execution that this process has just submitted. */
const FRESH_POLL_MS = 100;
/** The most submits that are remembered, and the longest body of an outcome. */
const FRESH_MAX = 2_000;
const FRESH_CHARS_MAX = 1_024;
/** No number of unnamed wakeups: a wakeup named the execution. */
const NAMED = -1;
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
  /** The project of an execution that a key names. Default `default`. */
  readonly project?: string;
  readonly signal?: AbortSignal;
}

interface Waiter {
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

export function signalFrom(waiting: Waiting): AbortSignal | undefined {
  const { signal, project } = readOptions('result', waiting, ['signal', 'project']);
  if (project !== undefined) parseProject(project);
  signalOption('result: signal', signal);
  return signal;
}

export class Results {
  readonly #config: EngineConfig;
  readonly #waiting: Map<ExecutionId, Set<Waiter>> = new Map();
  /**
   * Executions that this process submitted and that no caller has waited for yet. The value is the
   * outcome of one that has ended here. Otherwise it is the number of unnamed wakeups at the
   * submit: if that number has changed, the execution may have ended.
   */
  readonly #fresh: Map<ExecutionId, Outcome | number> = new Map();
  /** Kept, because a new iterator would pass all deleted entries again. */
  readonly #oldest: Iterator<ExecutionId> = this.#fresh.keys();
  readonly #unlisten: () => void;
  /** Waited-for executions that wakeups named since the last query. Undefined: any. */
  #ended: Set<ExecutionId> | undefined = new Set();
  #unnamedWakeups = 0;
  #pollAtMs = Infinity;
  #isPolling = false;
  #isPollDue = false;
  #isNotified = false;
  #cancelPoll: (() => void) | undefined;

  constructor(config: EngineConfig) {
    this.#config = config;
    this.#unlisten = config.store.executions.onWakeup((_, cause) => this.#onWakeup(cause));
  }

  /** An execution ended in this process, so its waiting callers need no query. */
  endedHere(outcome: Outcome): void {
    const { id, event } = outcome;
    const isShort = (event.body?.length ?? 0) <= FRESH_CHARS_MAX;
    if (this.#waiting.has(id)) this.#settle(outcome);
    else if (this.#fresh.has(id) && isShort) this.#fresh.set(id, outcome);
    else this.#fresh.delete(id);
  }

  /** Most callers wait for what they just submitted, which needs no query. */
  submittedHere(id: ExecutionId): void {
    this.#fresh.set(id, this.#unnamedWakeups);
    if (this.#fresh.size <= FRESH_MAX) return;
    this.#fresh.delete(this.#oldest.next().value);
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
      const fresh = this.#fresh.get(id);
      this.#fresh.delete(id);
      if (typeof fresh === 'object') return resolve(fresh);
      signal?.addEventListener('abort', abort, { once: true });
      const all = this.#waiting.get(id) ?? new Set();
      all.add(waiting);
      this.#waiting.set(id, all);
      if (fresh === this.#unnamedWakeups) this.#pollWithin(FRESH_POLL_MS);
      else this.#poll();
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
  #onWakeup(cause: WakeupCause | undefined): void {
    if (cause?.ended === undefined) {
      this.#ended = undefined;
      this.#unnamedWakeups += 1;
    }
    for (const id of cause?.ended ?? []) {
      if (this.#waiting.has(id)) this.#ended?.add(id);
      else if (typeof this.#fresh.get(id) === 'number') this.#fresh.set(id, NAMED);
    }
    if (this.#waiting.size === 0 || this.#isNotified || this.#ended?.size === 0) return;
    this.#isNotified = true;
    const poll = (): void => {
      this.#isNotified = false;
      const named = this.#ended && [...this.#ended];
      this.#ended = new Set();
      if (named === undefined || named.some((id) => this.#waiting.has(id))) this.#poll();
    };
    const { timers } = this.#config;
    if (this.#waiting.size <= FEW) timers.soon(poll);
    else timers.after(MANY_PAUSE_MS, poll);
  }

  #pollWithin(ms: number): void {
    const atMs = this.#config.clock.monotonicMs() + ms;
    if (this.#isPolling || atMs >= this.#pollAtMs) return;
    this.#cancelPoll?.();
    this.#pollAtMs = atMs;
    this.#cancelPoll = this.#config.timers.after(ms, () => this.#poll());
  }

  #poll(): void {
    this.#cancelPoll?.();
    this.#pollAtMs = Infinity;
    if (this.#waiting.size === 0) return;
    if (this.#isPolling) {
      this.#isPollDue = true;
      return;
    }
    this.#isPolling = true;
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
    } else if (this.#waiting.size > 0) this.#pollWithin(POLL_MS);
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
