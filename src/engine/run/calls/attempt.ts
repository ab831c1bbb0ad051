// One try of a step: what the user's function is given, and its time limit.

import type { Fence } from '../../../lease/fence.ts';
import { Fault } from '../../../support/fault.ts';
import { wholeNumber } from '../../../support/options.ts';
import type { StepContext } from '../../context.ts';
import { guardedSignal } from '../guarded.ts';
import { after } from '../idle-detector.ts';
import { runInside } from '../inside-step.ts';
import { LazyAbort } from '../lazy-abort.ts';
import type { Run } from '../run.ts';
import type { StepPlan } from './step-plan.ts';

export class StepTimedOut extends Error {
  override readonly name = 'TimeoutError';
  readonly code = 'step-timed-out';

  constructor(step: string, timeoutMs: number) {
    super(`Step "${step}" did not finish within ${timeoutMs} ms; it may still have its effect.`);
  }
}

/** Its signal is made only when somebody looks at it. */
export class Attempt<Output> implements StepContext {
  readonly attempt: number;
  readonly #run: Run;
  readonly #plan: StepPlan<Output>;
  #stop: LazyAbort | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(run: Run, plan: StepPlan<Output>, attempt: number) {
    this.#run = run;
    this.#plan = plan;
    this.attempt = attempt;
  }

  get idempotencyKey(): string {
    return this.#run.idempotencyKey(this.#plan.key);
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
    wholeNumber('assertHeld: marginMs', marginMs, { min: 0, max: Number.MAX_SAFE_INTEGER });
    const { isOver, session } = this.#run;
    const leftMs = isOver ? 0 : session.remainingMs();
    if (leftMs > marginMs) return;
    throw new Fault(
      'claim-not-held',
      `This worker is sure of the execution for ${Math.max(0, Math.floor(leftMs))} ms more, not for ${marginMs} ms. Stop here; the step is tried again by whoever owns it then.`,
    );
  }

  /** What it calls of the context is refused: it is inside a step. */
  start(): Output | Promise<Output> {
    return runInside(this.#run, runAttempt<Output>, this);
  }

  run(): Output | Promise<Output> {
    const { timeoutMs, fn } = this.#plan;
    return timeoutMs === undefined ? fn(this) : this.#runWithin(timeoutMs);
  }

  async #runWithin(timeoutMs: number): Promise<Output> {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#cancelTimer = after(this.#run, timeoutMs, () => {
      const timedOut = new StepTimedOut(this.#plan.name, timeoutMs);
      reject(timedOut);
      this.#stop ??= new LazyAbort();
      this.#stop.abort(timedOut);
    });
    try {
      return await Promise.race([this.#plan.fn(this), promise]);
    } finally {
      this.stopTimer();
    }
  }

  /** Also when nobody waits for its end any more. */
  stopTimer(): void {
    this.#cancelTimer?.();
  }
}

/** One function for all attempts: they are the hot path. */
function runAttempt<Output>(attempt: Attempt<Output>): Output | Promise<Output> {
  return attempt.run();
}
