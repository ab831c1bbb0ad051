// Guards between the engine and user code: a mistake in user code must not stop the process.

import { callSafely, causeOf } from '../../lease/observer.ts';
import { InvalidInput } from '../../support/fault.ts';
import { sendReport } from '../observer.ts';
import type { Run } from './run.ts';

/** Errors with which calls of `ctx` rejected. */
const rejections: WeakSet<object> = new WeakSet();
/** Errors with which calls of `ctx` refused their arguments. */
const misuses: WeakSet<object> = new WeakSet();

/**
 * User code may leave a promise of the engine unawaited. Its rejection must not stop the process.
 */
export function guarded<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(noteRejection);
  return promise;
}

/** Replaces `guarded` on hot paths: the caller attaches it only when a promise rejects. */
export function noteRejection(error: unknown): void {
  if (typeof error === 'object' && error !== null) rejections.add(error);
}

/** The error comes from a step, a child or an await, not from the code around them. */
export function isRejection(error: unknown): boolean {
  return typeof error === 'object' && error !== null && rejections.has(error);
}

/** As `guarded`, for a call of `ctx` that checks its arguments in its promise. */
export function guardedCall<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch((error: unknown) => {
    if (!noteMisuse(error)) noteRejection(error);
  });
  return promise;
}

/** Runs a check of the arguments of a call of `ctx`. */
export function checkingArguments<Result>(check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    noteMisuse(error);
    throw error;
  }
}

/** Replaces `checkingArguments` on hot paths. */
export function noteMisuse(error: unknown): boolean {
  if (!(error instanceof InvalidInput)) return false;
  misuses.add(error);
  return true;
}

/** A call of `ctx` refused its arguments, which is a bug in the code around it. */
export function isMisuse(error: object): boolean {
  return misuses.has(error);
}

export function ignored(): void {
  // The caller that awaits the promise gets the rejection.
}

type Timed = Pick<Run, 'config' | 'troubled'>;

/** As `Timers.after`. A callback that throws blocks this execution only, never the process. */
export function after(run: Timed, ms: number, callback: () => void): () => void {
  return run.config.timers.after(ms, () => safely(run, callback));
}

/** As `Timers.soon`. */
export function soon(run: Timed, callback: () => void): void {
  run.config.timers.soon(() => safely(run, callback));
}

/** For callbacks that no caller awaits: an error there would end the process. */
export function safely(run: Pick<Run, 'troubled'>, call: () => void): void {
  try {
    call();
  } catch (error) {
    run.troubled(error);
  }
}

type Listen = AbortSignal['addEventListener'];
type Listener = Parameters<Listen>[1];

/**
 * Returns a signal whose listeners may throw. Without the guard, Node would end the process with
 * everything in it. The guard reports the error to the observer. It does not cover signals that the
 * caller derives with `AbortSignal.any`.
 */
export function guardedSignal(
  signal: AbortSignal,
  run: Pick<Run, 'claimed' | 'config'>,
): AbortSignal {
  if (Object.hasOwn(signal, 'addEventListener')) return signal;
  const threw = (error: unknown): void => {
    const what = `A listener of an abort signal of execution ${run.claimed.execution.id} threw`;
    sendReport(run.config.observer, {
      kind: 'trouble',
      code: 'listener-threw',
      what,
      cause: causeOf(error),
    });
  };
  const known = new WeakMap<object, Listener>();
  const guardOf = (listener: Listener): Listener => {
    // Node itself rejects other values.
    if (typeof listener !== 'function' && typeof listener !== 'object') return listener;
    if (listener === null) return listener;
    const call = (event: Event): unknown =>
      typeof listener === 'function'
        ? Reflect.apply(listener, signal, [event])
        : listener.handleEvent(event);
    // Return nothing: Node would also watch a returned promise.
    const guard = known.get(listener) ?? ((event) => void callSafely(() => call(event), threw));
    known.set(listener, guard);
    return guard;
  };
  for (const name of ['addEventListener', 'removeEventListener'] as const) {
    const method: Listen = signal[name];
    const value: Listen = (type, listener, options) =>
      method.call(signal, type, guardOf(listener), options);
    Object.defineProperty(signal, name, { value });
  }
  return signal;
}

// Creates the AbortController when the code first reads its signal. Most executions never read it,
// and a controller costs more than a step.

export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: { readonly value: unknown } | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#reason ??= { value: reason };
    this.#controller?.abort(reason);
  }
}
