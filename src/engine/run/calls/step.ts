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
import { type Instant, laterBy } from '../../../support/clock.ts';
import { thrownText } from '../../../support/options.ts';
import { atEndOfTurn } from '../../../support/timer.ts';
import type { CircuitOpen, CircuitPolicy } from '../../circuits.ts';
import type { StepContext } from '../../context.ts';
import { failureOf, retryAfterOf } from '../../failures.ts';
import { reportClaim } from '../../observer.ts';
import { type ResolvedRetry, ruleFor } from '../../retry-options.ts';
import { PromisedCall } from '../call.ts';
import type { Compensation } from '../compensations.ts';
import { ignored, safely } from '../guarded.ts';
import type { Entry } from '../journal.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';
import { Attempt, heartbeatPosition } from './attempt.ts';

/** The checked arguments of `ctx.step`. */
export interface StepPlan<Output> {
  readonly key: CallKey;
  readonly name: string;
  readonly fn: (step: StepContext) => Output | Promise<Output>;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number | undefined;
  readonly heartbeatTimeoutMs: number | undefined;
  readonly circuit: CircuitPolicy | undefined;
  /** Undoes the step (Y-1). */
  readonly compensation: Compensation | undefined;
}

/** How often a due attempt checks whether the execution has parked. */
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
    this.#noteCircuit('dropped');
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
    const { isHeld, isPastDeadline } = this.run;
    return this.isWanted && !(isHeld || isPastDeadline);
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
    const open = this.#circuitOpen(attempt);
    if (open !== undefined) {
      this.#failedWith(open, startedAt, false);
      return;
    }
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

  /** The reason why the attempt must wait for the service. */
  #circuitOpen(attempt: Attempt<Output>): CircuitOpen | undefined {
    const { circuit } = this.plan;
    if (circuit === undefined) return undefined;
    const { config, claimed } = this.run;
    return config.circuits.refuse({ project: claimed.execution.project, policy: circuit }, attempt);
  }

  /** Call this before `#current` is unset. */
  #noteCircuit(outcome: Failure | 'succeeded' | 'dropped'): void {
    const { circuit } = this.plan;
    const attempt = this.#current;
    if (circuit === undefined || attempt === undefined) return;
    const { config, claimed, isOver, stop } = this.run;
    // A stopped attempt is no evidence about the service.
    const counted = isOver || stop.signal.aborted ? 'dropped' : outcome;
    config.circuits.ended(
      { project: claimed.execution.project, policy: circuit },
      attempt,
      counted,
    );
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
    const { isOver } = this.run;
    return (
      this.#wasDropped() || isOver || (this.wasRejected && this.plan.compensation === undefined)
    );
  }

  /** Call this once, when an attempt has ended. */
  #wasDropped(): boolean {
    if (this.#isDropped) this.#isActive(false);
    return this.#isDropped;
  }

  #encode(value: Output, startedAt: number): void {
    this.#noteCircuit('succeeded');
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

  /** Any value may have been thrown, also one that throws when it is inspected. */
  #failedWith(error: unknown, startedAt: number, hasBegun = true): void {
    const { run } = this;
    const { key, name, retry } = this.plan;
    const rule = hasBegun ? ruleFor(retry, error) : undefined;
    const failure: Failure = {
      ...failureOf(error, key),
      ...(rule === undefined ? {} : { category: rule.do === 'fail' ? 'permanent' : 'retryable' }),
    };
    if (hasBegun) this.#noteCircuit(failure);
    this.#current = undefined;
    if (this.#isUnwanted()) return;
    const isDenied = failure.category === 'denied';
    if (hasBegun) this.#reportAttempt(startedAt, failure);
    if (isDenied) this.#denied += 1;
    else this.#failed += 1;
    if (!isDenied && hadNoEffect(error)) this.#harmless += 1;
    const afterMs = rule?.afterMs ?? retryAfterOf(error);
    const decision = decideRetry(
      retry.policy,
      { failed: this.#failed, denied: this.#denied },
      { failure, dice: run.config.random.next(), ...(afterMs === undefined ? {} : { afterMs }) },
    );
    // A cancelled execution does not retry its steps.
    const isRetried = decision.kind === 'retry' && !this.wasRejected;
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
