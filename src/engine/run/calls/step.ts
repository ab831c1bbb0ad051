// A step runs the user's function until it succeeds or the retry policy gives up, and records the
// result. The journal records a failed attempt before the next begins, so that budgets survive a
// crash.
//
// The stations of a step, in order:
//
//   enter       `ctx.step` names the call and `Run.enter` takes it.
//   answered?   `Settling.answer` looks into history. A recorded end goes straight to settle.
//   attempt     `#attempt` runs the user's function. Errors go to `#failedWith`.
//   encode      `#encode` turns the returned value into a payload.
//   journal     `#journal` passes the event on; the journal calls `stored` once it is durable.
//   settle      The code gets the result: at once from `stored`, or in the order of history. A step
//               that is alone settles while the journal writes, and `stored` ends its lead.

import { decideRetry, type Failure } from '../../../execution/failure.ts';
import type { CallKey, Payload } from '../../../execution/names.ts';
import type { Fence } from '../../../lease/fence.ts';
import { type Instant, laterBy } from '../../../support/clock.ts';
import { Fault, InvalidInput } from '../../../support/fault.ts';
import { integerOption, thrownText } from '../../../support/options.ts';
import { atEndOfTurn } from '../../../support/timer.ts';
import { toText } from '../../../support/value.ts';
import type { StepContext } from '../../context.ts';
import { failureOf, retryAfterOf } from '../../failures.ts';
import { reportClaim } from '../../observer.ts';
import { type ResolvedRetry, ruleFor } from '../../retry-options.ts';
import { PromisedCall, runInside } from '../call.ts';
import type { Compensation } from '../compensations.ts';
import { after, guardedSignal, ignored, LazyAbort, safely } from '../guarded.ts';
import type { Entry } from '../journal.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

/** The checked arguments of `ctx.step`. */
export interface StepPlan<Output> {
  readonly key: CallKey;
  readonly name: string;
  readonly fn: (step: StepContext) => Output | Promise<Output>;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number | undefined;
  readonly heartbeatTimeoutMs: number | undefined;
  /** Undoes the step (Y-1). */
  readonly compensation: Compensation | undefined;
}

/** How often an attempt that is due asks whether the execution has parked. */
const PARKING_MS = 200;

const NO_EVENT: Entry['event'] = { kind: 'step-completed' };

/** One object is both the call and its journal entry, because steps are the hot path. */
export class StepCall<Output> extends PromisedCall<StepPlan<Output>, Output> implements Entry {
  event: Entry['event'] = NO_EVENT;
  #output: Output | undefined;
  #failed = 0;
  #denied = 0;
  /** Failed attempts that certainly had no effect. */
  #harmless = 0;
  #mayHaveRun = false;
  #isDropped = false;
  /** The attempt that runs now. Nothing of an earlier one counts any more. */
  #current: Attempt<Output> | undefined;
  #isAhead = false;

  constructor(run: Run, plan: StepPlan<Output>, promised: PromiseWithResolvers<Output>) {
    super(run, plan, promised);
    const { key, name, compensation } = plan;
    if (compensation !== undefined) run.compensations.offer(key, { name, compensation });
  }

  override start(opening: Opening | undefined): void {
    this.#mayHaveRun = this.run.mayHaveRun;
    if (opening === undefined) {
      this.#attempt();
      return;
    }
    this.#failed = opening.failed;
    this.#denied = opening.denied;
    this.#attemptAt(opening.dueAt);
  }

  override settle(settlement: Settlement): void | Promise<void> {
    this.stopWaiting?.();
    const { kind, body } = settlement;
    if (kind === 'step-failed') {
      this.run.failedCall = { key: this.key, attempts: body.attempt ?? 0 };
    }
    return this.settleStep(this.plan.name, settlement);
  }

  /** Begins the next attempt without waiting for its time. */
  retryNow(): void {
    if (this.waits === undefined) return;
    this.stopWaiting?.();
    this.#attempt();
  }

  ended(): Promise<void> {
    return this.promised.promise.then(ignored, ignored);
  }

  /** The run continues without this step and ignores the result of a running attempt. */
  drop(): void {
    this.#isDropped = true;
    this.#current = undefined;
    this.stopWaiting?.();
  }

  get described(): StepPlan<Output> {
    return this.plan;
  }

  isCurrent(attempt: Attempt<Output>): boolean {
    return this.#current === attempt;
  }

  #attemptAt(dueAt: Instant | undefined): void {
    if (dueAt !== undefined && dueAt > this.run.storeNow()) {
      this.waitUntil(dueAt, () => this.#attempt());
    } else this.#attempt();
  }

  get #mayBegin(): boolean {
    const { isOver, isHeld, cancelled, isPastDeadline } = this.run;
    return !(isOver || isHeld || cancelled !== undefined || isPastDeadline);
  }

  #attempt(): void {
    if (!this.#mayBegin) return;
    // If the park happened, another worker may be at this step (P2). If it did not, this one stays.
    if (this.run.journal.mayHaveLeft) {
      this.#attemptAt(laterBy(this.run.storeNow(), PARKING_MS));
      return;
    }
    this.waits = undefined;
    this.#isActive(true);
    const { details } = this.run.heartbeats.of(this.key) ?? {};
    if (details === undefined) this.#begin(undefined);
    else this.#resume(details);
  }

  /** The attempt gets the last details of an earlier one. */
  #resume(details: Payload): void {
    const { run } = this;
    const place = run.expectedAt(heartbeatPosition(run, this.key));
    const failed = (error: unknown): void => {
      run.calls.delete(this.key);
      this.reject(error instanceof Error ? error : new Error(thrownText(error)));
      this.#isActive(false);
    };
    let decoded: unknown;
    try {
      decoded = run.payloads.decode(details, place);
    } catch (error) {
      failed(error);
      return;
    }
    if (!(decoded instanceof Promise)) {
      this.#begin({ value: decoded });
      return;
    }
    decoded
      .then((value: unknown) => {
        if (this.#mayBegin && !this.#isDropped) this.#begin({ value });
        else this.#isActive(false);
      }, failed)
      .catch((error: unknown) => run.troubled(error));
  }

  #begin(resumed: { readonly value: unknown } | undefined): void {
    const attempt = new Attempt(this, this.run, { number: this.#failed + 1, resumed });
    this.#current = attempt;
    const { timeoutMs, heartbeatTimeoutMs } = this.plan;
    if ((timeoutMs ?? heartbeatTimeoutMs) !== undefined) {
      this.stopWaiting = () => attempt.stopTimers();
    }
    const startedAt = this.run.config.clock.monotonicMs();
    let output: Output | Promise<Output>;
    let isLater: boolean;
    try {
      output = attempt.start();
      isLater = isPromise(output);
    } catch (error) {
      this.#failedWith(error, startedAt);
      return;
    }
    if (!isLater) {
      // Code that makes several calls at once makes the others first. So a call that is then alone
      // is one that the code waits for.
      atEndOfTurn(() => safely(this.run, () => this.#encode(output as Output, startedAt)));
      return;
    }
    // Wrap the promise: a thenable of user code may call back twice or never.
    Promise.resolve(output)
      .then(
        (value) => this.#encode(value, startedAt),
        (error: unknown) => this.#failedWith(error, startedAt),
      )
      .catch((error: unknown) => this.run.troubled(error));
  }

  /**
   * An active step keeps the execution in this process. No compensation runs beside a step that can
   * be undone (Y-4).
   */
  #isActive(isActive: boolean): void {
    if (this.plan.compensation !== undefined) this.run.compensations.active(isActive ? 1 : -1);
    this.run.active(isActive ? 1 : -1);
  }

  /**
   * True if the run drops the outcome. A cancelled run still records steps that can be undone
   * (Y-1).
   */
  #isUnwanted(): boolean {
    const { isOver, cancelled } = this.run;
    return (
      this.#wasDropped() ||
      isOver ||
      (cancelled !== undefined && this.plan.compensation === undefined)
    );
  }

  /** Call this once, when an attempt has ended. */
  #wasDropped(): boolean {
    if (this.#isDropped) this.#isActive(false);
    return this.#isDropped;
  }

  #encode(value: Output, startedAt: number): void {
    this.#current = undefined;
    // Encoding replaces this value with one equal to that of a replay.
    const output = { value };
    let payload: Payload | Promise<Payload>;
    try {
      const what = `The output of step "${this.plan.name}"`;
      const place = { ...this.run.placeOfCall(this.key), live: output };
      payload = this.run.payloads.encode(what, value, place);
    } catch (error) {
      this.#failedWith(error, startedAt);
      return;
    }
    if (!(payload instanceof Promise)) {
      this.#journal(output, payload, startedAt);
      return;
    }
    payload
      .then(
        (encoded) => this.#journal(output, encoded, startedAt),
        (error: unknown) => this.#failedWith(error, startedAt),
      )
      .catch((error: unknown) => this.run.troubled(error));
  }

  #journal(output: { readonly value: Output }, payload: Payload, startedAt: number): void {
    const { run } = this;
    if (this.#isUnwanted()) return;
    const { key, name, compensation } = this.plan;
    const attempts = this.#failed === 0 ? '' : `,"attempt":${this.#failed + 1}`;
    const again = this.#mayHaveRun ? ',"again":true' : '';
    const { with: others } = run.under(key);
    const under = others === undefined ? '' : `,"with":${JSON.stringify(others)}`;
    // A step with a compensation must be durable before anything depends on it.
    const isSoft = compensation === undefined && run.journal.mayDefer;
    this.#isAhead = !isSoft && compensation === undefined && run.settling.runsAhead(this);
    const early = isSoft ? ',"soft":true' : this.#isAhead ? ',"ahead":true' : '';
    const saga = compensation === undefined ? '' : ',"saga":true';
    const { startedAt: from, tookMs } = run.timing(startedAt);
    const time = `,"startedAt":${from},"tookMs":${tookMs}`;
    const text = `{"key":${JSON.stringify(key)},"out":${payload}${attempts}${again}${under}${early}${saga}${time}}`;
    this.event = { kind: 'step-completed', name, body: text as Payload };
    run.heartbeats.end(key);
    this.#output = output.value;
    this.#reportAttempt(startedAt);
    if (this.#isAhead) {
      run.journal.append(this);
      run.noteActivity();
      run.ledger.advance({ body: { key, ahead: true, startedAt: from, tookMs }, at: from });
      this.promised.resolve(output.value);
      this.#isActive(false);
      return;
    }
    if (!isSoft) {
      run.journal.record(this);
      return;
    }
    run.journal.defer(this.event);
    run.settle({
      kind: 'step-completed',
      body: { key, soft: true },
      at: run.now,
      seq: 0,
      live: output,
    });
    this.#isActive(false);
  }

  /** The journal calls this when the result is durable. */
  stored(at: Instant): void {
    const { run } = this;
    const value = this.#output as Output;
    run.mayHaveRun = false;
    if (this.#isAhead) {
      run.settling.stored();
      return;
    }
    if (this.#wasDropped()) return;
    if (run.settlesAtOnce(this, at)) this.promised.resolve(value);
    else {
      const body = { key: this.plan.key };
      run.settle({ kind: 'step-completed', body, at, seq: 0, live: { value } });
    }
    if (this.plan.compensation !== undefined) run.compensations.registered += 1;
    this.#isActive(false);
  }

  #failedWith(error: unknown, startedAt: number): void {
    const { run } = this;
    this.#current = undefined;
    if (this.#isUnwanted()) return;
    const { key, name, retry } = this.plan;
    const rule = ruleFor(retry, error);
    const failure: Failure = {
      ...failureOf(error, key),
      ...(rule === undefined ? {} : { category: rule.do === 'fail' ? 'permanent' : 'retryable' }),
    };
    const isDenied = failure.category === 'denied';
    this.#reportAttempt(startedAt, failure);
    if (isDenied) this.#denied += 1;
    else this.#failed += 1;
    if (hadNoEffect(error)) this.#harmless += 1;
    const afterMs = rule?.afterMs ?? retryAfterOf(error);
    const decision = decideRetry(
      retry.policy,
      { failed: this.#failed, denied: this.#denied },
      { failure, dice: run.config.random.next(), ...(afterMs === undefined ? {} : { afterMs }) },
    );
    // A cancelled execution does not retry its steps.
    const isRetried = decision.kind === 'retry' && run.cancelled === undefined;
    if (!isRetried) run.heartbeats.end(key);
    const body: CallBody = {
      key,
      failure,
      ...run.under(key),
      attempt: this.#failed + this.#denied,
      ...(isDenied ? { denied: true } : {}),
      ...(isRetried ? { retryInMs: decision.delayMs } : this.#leftBehind()),
      ...run.timing(startedAt),
    };
    run.journal.record({
      event: { kind: 'step-failed', name, body: JSON.stringify(body) as Payload },
      stored: (at) => {
        run.mayHaveRun = false;
        if (this.#wasDropped()) return;
        if (body.saga === true) run.compensations.registered += 1;
        if (isRetried) this.#attemptAt((at + decision.delayMs) as Instant);
        else run.settle({ kind: 'step-failed', body, at, seq: 0 });
        this.#isActive(false);
      },
    });
  }

  /** The step failed for good, but an attempt may have had its effect (Y-1). */
  #leftBehind(): Pick<CallBody, 'saga' | 'outcome'> {
    const mayHaveHadEffect = this.#mayHaveRun || this.#failed > this.#harmless;
    const isUndoable = this.plan.compensation !== undefined && mayHaveHadEffect;
    return isUndoable ? { saga: true, outcome: 'unknown' } : {};
  }

  #reportAttempt(startedAt: number, failure?: Failure): void {
    const { clock, observer } = this.run.config;
    if (observer === undefined && failure === undefined) return;
    reportClaim(this.run, {
      kind: 'step',
      step: this.plan.name,
      attempt: this.#failed + 1,
      tookMs: clock.monotonicMs() - startedAt,
      mayHaveRun: this.#mayHaveRun,
      ...(failure && { failure }),
    });
  }
}

/** The error itself declares it: `effect: 'none'`. */
function hadNoEffect(error: unknown): boolean {
  try {
    return (error as { effect?: unknown } | null | undefined)?.effect === 'none';
  } catch {
    return false;
  }
}

function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

// One attempt of a step: the context of the user's function, its time limit, and its heartbeats.

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

function heartbeatPosition(run: Run, key: CallKey): string {
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
    const signal = AbortSignal.any([this.#stop.signal, this.#run.stop.signal]);
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
    this.#run.stop.signal.throwIfAborted();
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
