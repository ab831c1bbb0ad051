// Calls of `ctx`: one that the code has made and waits for, and the base that all kinds share.

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

/** A call that the code has made and that is not settled. */
export interface Call {
  readonly key: CallKey;
  /** Begins what is not recorded, or goes on with what was begun. */
  start(opening: Opening | undefined): void;
  /** A promise while a value is being fetched: nothing else is delivered before it is there. */
  settle(settlement: Settlement): void | Promise<void>;
  reject(error: Error): void;
  /** Set while nothing of it runs here: the event that it waits for. */
  readonly waits: Wait | undefined;
  /** For calls that are settled by what others recorded: it may leave by itself. */
  look?(): void;
  /** For calls that have effects: when it is settled, whichever way. Never rejects. */
  ended?(): Promise<void>;
  /** The execution has left this process: whatever of it is still timed here goes. */
  leave(): void;
}

/** `due`: by itself at this store time. `children`: until so many have ended. */
export interface Wait {
  readonly dueAt?: Instant;
  readonly children?: number;
}

/** The arguments of a call, checked. */
export interface CallPlan {
  readonly key: CallKey;
}

/** The run that a call belongs to, its arguments, and the promise that the code has. */
export abstract class PromisedCall<Plan extends CallPlan, Result> implements Call {
  waits: Wait | undefined;
  protected readonly run: Run;
  protected readonly plan: Plan;
  protected readonly promised: PromiseWithResolvers<Result>;
  /** Takes back the timer or the listener that it waits with. */
  protected stopWaiting: (() => void) | undefined;

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

  /** The code may have left the promise behind: that must not stop the process. */
  reject(error: Error): void {
    this.stopWaiting?.();
    this.promised.promise.catch(noteRejection);
    this.promised.reject(error);
  }

  leave(): void {
    this.stopWaiting?.();
  }

  /** The code still waits for its result. */
  protected get isWanted(): boolean {
    return !this.run.isOver && this.run.cancelled === undefined;
  }

  /** Calls `due` at this time of the store, unless the execution has left by then. */
  protected waitUntil(dueAt: Instant, due: () => void): void {
    this.stopWaiting?.();
    const { run } = this;
    if (run.isOver) return;
    this.waits = { dueAt };
    this.stopWaiting = after(run, Math.max(0, dueAt - run.storeNow()), () => {
      // A timer of the process may be early, or cut short when the wait is very long.
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

  /** Gives the code the value that was recorded. */
  protected resolveWith({ live, body }: Settlement, place: ExpectedPlace): void | Promise<void> {
    const { resolve } = this.promised;
    const value =
      live === undefined ? this.run.payloads.decodeEnvelope(body.out ?? {}, place) : live.value;
    if (live === undefined && value instanceof Promise) {
      return value.then(resolve, (error) => this.reject(error));
    }
    resolve(value as Result);
  }

  /** Settles a step with the value or the failure that was recorded. */
  protected settleStep(name: string, settlement: Settlement): void | Promise<void> {
    if (settlement.kind !== 'step-failed') {
      return this.resolveWith(settlement, this.run.expectedCall(this.key));
    }
    this.reject(new StepFailed(name, settlement.body.failure as Failure));
  }

  /** It failed before anything was recorded: a replay asks for it again. */
  protected failUnrecorded(error: unknown): void {
    this.run.calls.delete(this.key);
    this.reject(error instanceof Error ? error : new Error(thrownText(error)));
    this.run.active(-1);
  }
}

// Calls of a context inside a step would be recorded before the step that made them, and a replay, which
// does not run the step again, would never ask for them. They are refused where they are made.

/** The run whose step the current code is part of. */
const insideStep: AsyncLocalStorage<object> = new AsyncLocalStorage();

/**
 * Runs `fn` as part of a step of this run. In a resource, which puts back what was there before: `insideStep.run`
 * would make a copy of it, once for every step, and leave that to the code that goes on.
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

/** Undefined unless the call is made inside a step of this run. */
export function refuseInside(run: object, key: CallKey): InvalidInput | undefined {
  if (!isInside(run)) return undefined;
  return new InvalidInput(
    `${key} was called inside a step. Calls of ctx belong to the pipeline's own code: make it after the step, or do its work in the step itself.`,
  );
}
