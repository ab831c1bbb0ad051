// One try of a step: what the user's function is given, and its time limit.

import type { CallKey } from '../../execution/names.ts';
import type { Fence } from '../../lease/fence.ts';
import { wholeNumber } from '../../support/options.ts';
import type { StepContext } from '../context.ts';
import { guardedSignal } from '../guarded.ts';
import { LazyAbort } from '../lazy-abort.ts';
import type { ResolvedRetry } from '../retry-options.ts';
import type { Run } from '../run.ts';

export interface StepPlan<Output> {
  readonly key: CallKey;
  readonly name: string;
  readonly fn: (step: StepContext) => Output | Promise<Output>;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number | undefined;
}

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

  get signal(): AbortSignal {
    this.#stop ??= new LazyAbort();
    const signal = AbortSignal.any([this.#stop.signal, this.#run.stop.signal]);
    return guardedSignal(signal, this.#run);
  }

  assertHeld(marginMs = 0): void {
    wholeNumber('assertHeld: marginMs', marginMs, { min: 0, max: Number.MAX_SAFE_INTEGER });
    this.#run.assertHeld(marginMs);
  }

  run(): Output | Promise<Output> {
    const { timeoutMs, fn } = this.#plan;
    return timeoutMs === undefined ? fn(this) : this.#runWithin(timeoutMs);
  }

  async #runWithin(timeoutMs: number): Promise<Output> {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#cancelTimer = this.#run.config.timers.after(timeoutMs, () => {
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
