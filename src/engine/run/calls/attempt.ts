// One attempt of a step: the context of the user's function, its time limit, and its heartbeats.

import type { CallKey, Payload } from '../../../execution/names.ts';
import type { Fence } from '../../../lease/fence.ts';
import { Fault, InvalidInput } from '../../../support/fault.ts';
import { integerOption } from '../../../support/options.ts';
import { toText } from '../../../support/value.ts';
import type { StepContext } from '../../context.ts';
import { runInside } from '../call.ts';
import { after, guardedSignal, ignored, LazyAbort } from '../guarded.ts';
import type { Run } from '../run.ts';
import type { StepCall, StepPlan } from './step.ts';

class StepTimedOut extends Error {
  override readonly name = 'TimeoutError';
  readonly code = 'step-timed-out';

  constructor(step: string, timeoutMs: number) {
    super(`Step "${step}" did not finish within ${timeoutMs} ms. It may still have its effect.`);
  }
}

class StepSilent extends Error {
  override readonly name = 'TimeoutError';
  readonly code = 'step-silent';

  constructor(step: string, silentMs: number) {
    super(`Step "${step}" sent no heartbeat for ${silentMs} ms. It may still have its effect.`);
  }
}

/** Details are a position, not a result: the row of the execution keeps them. */
const DETAILS_BYTES_MAX = 16_384;

export function heartbeatPosition(run: Run, key: CallKey): string {
  return `${run.ledger.era}/${key}/heartbeat`;
}

/** The value as JSON, to compare and to measure it. */
function detailsText(step: string, details: unknown): string {
  const what = `The heartbeat details of step "${step}"`;
  const json = toText(what, details)?.json ?? '';
  const bytes = Buffer.byteLength(json);
  if (bytes <= DETAILS_BYTES_MAX) return json;
  throw new InvalidInput(
    `${what} have ${bytes} bytes, and at most ${DETAILS_BYTES_MAX} can be stored. Nothing was written. Pass the position at which to continue, and store results elsewhere.`,
  );
}

/** Creates its signal on first read. */
export class Attempt<Output> implements StepContext {
  readonly attempt: number;
  readonly #call: StepCall<Output>;
  readonly #run: Run;
  readonly #resumed: { readonly value: unknown } | undefined;
  #hasReadDetails = false;
  #beatAt = 0;
  #beats = 0;
  /** A cleanup has another one than the steps that its cancel stopped. */
  readonly #runStop: LazyAbort;
  #stop: LazyAbort | undefined;
  #cancelTimer: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;

  constructor(
    call: StepCall<Output>,
    run: Run,
    begun: { readonly number: number; readonly resumed: { readonly value: unknown } | undefined },
  ) {
    this.#call = call;
    this.#run = run;
    this.#runStop = run.stop;
    this.attempt = begun.number;
    this.#resumed = begun.resumed;
  }

  get idempotencyKey(): string {
    return this.#run.idempotencyKey(this.#call.key);
  }

  get fence(): Fence {
    return this.#run.claimed.fence;
  }

  get traceparent(): string | undefined {
    return this.#run.claimed.execution.traceparent;
  }

  get signal(): AbortSignal {
    this.#stop ??= new LazyAbort();
    const signal = AbortSignal.any([this.#stop.signal, this.#runStop.signal]);
    return guardedSignal(signal, this.#run);
  }

  assertHeld(marginMs = 0): void {
    integerOption('assertHeld: marginMs', marginMs, { min: 0, max: Number.MAX_SAFE_INTEGER });
    const { isOver, journal, session } = this.#run;
    const leftMs = isOver || journal.mayHaveLeft ? 0 : session.remainingMs();
    if (leftMs > marginMs) return;
    throw new Fault(
      'claim-not-held',
      `The claim of this worker is safe for ${Math.max(0, Math.floor(leftMs))} ms more, not for ${marginMs} ms. Stop before the effect: the worker that owns the execution then tries the step again.`,
    );
  }

  get heartbeatDetails(): unknown {
    this.#hasReadDetails = true;
    return this.#resumed?.value;
  }

  heartbeat(details?: unknown): void {
    this.#stop?.signal.throwIfAborted();
    this.#runStop.signal.throwIfAborted();
    const { key, name } = this.#call.described;
    if (!this.#call.isCurrent(this) || this.#run.isOver) {
      throw new Fault(
        'attempt-over',
        `Attempt ${this.attempt} of step "${name}" has ended, so its heartbeat was refused. Nothing was written. Stop its work: await everything that the step begins.`,
      );
    }
    if (details === undefined) {
      this.#beat(this.#run.heartbeats.of(key)?.details, false);
      return;
    }
    const hasAdvanced = this.#hasAdvanced(detailsText(name, details));
    const position = heartbeatPosition(this.#run, key);
    const place = { ...this.#run.placeOf(position), isInline: true };
    const payload = this.#run.payloads.encode('Heartbeat details', details, place);
    if (!(payload instanceof Promise)) {
      this.#beat(payload, hasAdvanced);
      return;
    }
    // The step works, however long its codec takes.
    this.#beatAt = this.#run.config.clock.monotonicMs();
    const nth = this.#beats + 1;
    this.#beats = nth;
    payload.then((encoded) => {
      if (nth === this.#beats && this.#call.isCurrent(this)) this.#beat(encoded, hasAdvanced);
    }, ignored);
  }

  /** Code that did not read the details began again, so other details prove nothing. */
  #hasAdvanced(text: string): boolean {
    if (this.#resumed === undefined) return true;
    return this.#hasReadDetails && text !== detailsText('', this.#resumed.value);
  }

  #beat(details: Payload | undefined, hasAdvanced: boolean): void {
    const run = this.#run;
    const tick = run.config.clock.monotonicMs();
    this.#beatAt = tick;
    const { key } = this.#call;
    const beat = { key, attempt: this.attempt, at: run.storeNow(tick) };
    run.heartbeats.note(details === undefined ? beat : { ...beat, details }, hasAdvanced);
  }

  /** Runs the function; the run refuses calls of `ctx` inside it. */
  start(): Output | Promise<Output> {
    return runInside(this.#run, runAttempt<Output>, this);
  }

  run(): Output | Promise<Output> {
    const { timeoutMs, heartbeatTimeoutMs, fn } = this.#call.described;
    if ((timeoutMs ?? heartbeatTimeoutMs) === undefined) return fn(this);
    return this.#runWithin(this.#call.described);
  }

  async #runWithin(plan: StepPlan<Output>): Promise<Output> {
    const { name, timeoutMs, heartbeatTimeoutMs, fn } = plan;
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = (reason: Error): void => {
      reject(reason);
      this.#stop ??= new LazyAbort();
      this.#stop.abort(reason);
    };
    if (timeoutMs !== undefined) {
      this.#cancelTimer = after(this.#run, timeoutMs, () =>
        giveUp(new StepTimedOut(name, timeoutMs)),
      );
    }
    if (heartbeatTimeoutMs !== undefined) {
      this.#beatAt = this.#run.config.clock.monotonicMs();
      this.#watch(heartbeatTimeoutMs, () => giveUp(new StepSilent(name, heartbeatTimeoutMs)));
    }
    try {
      return await Promise.race([fn(this), promise]);
    } finally {
      this.stopTimers();
    }
  }

  /** One timer for many heartbeats: it looks for the last one when it fires. */
  #watch(silentMs: number, silent: () => void, leftMs: number = silentMs): void {
    this.#cancelSilence = after(this.#run, leftMs, () => {
      const left = this.#beatAt + silentMs - this.#run.config.clock.monotonicMs();
      if (left > 0) this.#watch(silentMs, silent, left);
      else silent();
    });
  }

  /** Also called when the run no longer wants the result. */
  stopTimers(): void {
    this.#cancelTimer?.();
    this.#cancelSilence?.();
  }
}

/** One shared function instead of a closure per attempt, because attempts are the hot path. */
function runAttempt<Output>(attempt: Attempt<Output>): Output | Promise<Output> {
  return attempt.run();
}
