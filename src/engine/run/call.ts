// The calls of `ctx`: the interface of a pending call, and the base class of all kinds.

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { Failure } from '../../execution/failure.ts';
import type { CallKey, Payload } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { thrownText } from '../../support/options.ts';
import { StepFailed } from '../failures.ts';
import type { ExpectedPlace } from '../values/place.ts';
import { after, noteRejection } from './guarded.ts';
import type { Entry } from './journal.ts';
import type { CallBody, Opening, Settlement } from './ledger.ts';
import type { Run } from './run.ts';

/** A pending call: the code made it, and nothing has settled it yet. */
export interface Call {
  readonly key: CallKey;
  /** Begins the call if history does not have it, or continues one that history opened. */
  start(opening: Opening | undefined): void;
  /**
   * Returns a promise while it fetches a value. The run delivers nothing else until the value is
   * there.
   */
  settle(settlement: Settlement): void | Promise<void>;
  reject(error: Error): void;
  /** True while the call runs code that makes other calls. It waits if they do. */
  readonly isBlock?: boolean;
  /** True while such a call has not begun its code. A replay cannot continue without it. */
  readonly isEntering?: boolean;
  /** The event that the call waits for; set only while no part of the call runs in this process. */
  readonly waits: Wait | undefined;
  /**
   * For calls that wait for other events: checks whether those are already there. The call may then
   * settle at once.
   */
  check?(): void;
  /** For calls with effects: resolves once the call has settled, either way. Never rejects. */
  ended?(): Promise<void>;
  /** The execution has left this process: cancel the call's timers. */
  leave(): void;
}

/**
 * `dueAt`: the call settles by itself at this store time. `children`: it waits until so many have
 * ended.
 */
export interface Wait {
  readonly dueAt?: Instant;
  readonly children?: number;
}

/** The checked arguments of a call. */
export interface CallPlan {
  readonly key: CallKey;
}

/** Holds the run of a call, its arguments, and the promise that the code awaits. */
export abstract class PromisedCall<Plan extends CallPlan, Result> implements Call {
  waits: Wait | undefined;
  protected readonly run: Run;
  protected readonly plan: Plan;
  protected readonly promised: PromiseWithResolvers<Result>;
  /** Cancels the timer or the listener that the call waits with. */
  protected stopWaiting: (() => void) | undefined;
  /** The run rejected the call, because the execution is cancelled or the call is not allowed. */
  protected wasRejected = false;

  constructor(run: Run, plan: Plan, promised: PromiseWithResolvers<Result>) {
    this.run = run;
    this.plan = plan;
    this.promised = promised;
  }

  get key(): CallKey {
    return this.plan.key;
  }

  abstract start(opening: Opening | undefined): void;

  abstract settle(settlement: Settlement): void | Promise<void>;

  /**
   * User code may leave the promise unawaited, and an unhandled rejection would stop the process.
   */
  reject(error: Error): void {
    this.stopWaiting?.();
    this.wasRejected = true;
    this.promised.promise.catch(noteRejection);
    this.promised.reject(error);
  }

  leave(): void {
    this.stopWaiting?.();
  }

  /** True while the code waits for the result. */
  protected get isWanted(): boolean {
    return !this.run.isOver && !this.wasRejected;
  }

  /** Calls `due` at this time of the store, unless the execution has left by then. */
  protected waitUntil(dueAt: Instant, due: () => void): void {
    this.stopWaiting?.();
    const { run } = this;
    if (run.isOver) return;
    this.waits = { dueAt };
    this.stopWaiting = after(run, Math.max(0, dueAt - run.storeNow()), () => {
      // Timers of the process may fire early, and Node caps very long ones.
      if (dueAt > run.storeNow()) this.waitUntil(dueAt, due);
      else due();
    });
    run.rest();
  }

  /** Records the event that settles this call. */
  protected recordEnd<Body extends CallBody>(
    entry: Pick<Entry, 'attachment'> & {
      readonly event: { readonly kind: Settlement['kind']; readonly name: string };
      readonly body: Body;
    },
  ): void {
    const { run } = this;
    const { event, body, ...rest } = entry;
    run.journal.record({
      ...rest,
      event: { ...event, body: JSON.stringify(body) as Payload },
      stored: (at) => {
        run.settle({ kind: event.kind, body, at, seq: 0 });
        run.active(-1);
      },
    });
  }

  /** Resolves the code's promise with the recorded value. */
  protected resolveWith({ live, body }: Settlement, place: ExpectedPlace): void | Promise<void> {
    const { resolve } = this.promised;
    const value =
      live === undefined ? this.run.payloads.decodeEnvelope(body.out ?? {}, place) : live.value;
    if (live === undefined && value instanceof Promise) {
      return value.then(resolve, (error) => this.reject(error));
    }
    resolve(value as Result);
  }

  /** Settles a step with its recorded value or failure. */
  protected settleStep(name: string, settlement: Settlement): void | Promise<void> {
    if (settlement.kind !== 'step-failed') {
      return this.resolveWith(settlement, this.run.expectedCall(this.key));
    }
    this.reject(new StepFailed(name, settlement.body.failure as Failure));
  }

  /** The call failed before the journal recorded anything, so a replay makes it again. */
  protected failUnrecorded(error: unknown): void {
    this.run.calls.delete(this.key);
    this.reject(error instanceof Error ? error : new Error(thrownText(error)));
    this.run.active(-1);
  }
}

// Refuses calls of `ctx` that code makes inside a step. History would have them before the step
// that made them. A replay does not run the step again, so it would never make them.

/** The run whose step the current code belongs to. */
const insideStep: AsyncLocalStorage<object> = new AsyncLocalStorage();

/**
 * Runs `fn` as part of a step of this run. An AsyncResource restores the previous context
 * afterwards. `insideStep.run` would copy that context for every step and leave the copy to the
 * code that continues.
 */
export function runInside<Argument, Result>(
  run: object,
  fn: (argument: Argument) => Result,
  argument: Argument,
): Result {
  return new AsyncResource('holdfast.step').runInAsyncScope(
    enter<Argument, Result>,
    undefined,
    run,
    fn,
    argument,
  );
}

function enter<Argument, Result>(
  run: object,
  fn: (argument: Argument) => Result,
  argument: Argument,
): Result {
  insideStep.enterWith(run);
  return fn(argument);
}

export function isInside(run: object): boolean {
  return insideStep.getStore() === run;
}

/** Returns an error if the call happens inside a step of this run. */
export function refuseInside(run: object, key: CallKey): InvalidInput | undefined {
  if (!isInside(run)) return undefined;
  return new InvalidInput(
    `${key} was called inside a step. Nothing was recorded for it. Call ctx in the code of the pipeline, after the step, or do the work in the step itself.`,
  );
}
