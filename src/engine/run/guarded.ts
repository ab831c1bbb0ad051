// Guards between the engine and user code: a mistake in user code must not stop the process.

import { callSafely, causeOf } from '../../lease/observer.ts';
import { tell } from '../observer.ts';
import type { Run } from './run.ts';

/** Errors that calls of `ctx` were rejected with. */
const rejections: WeakSet<object> = new WeakSet();

/** Code may leave a promise of ours behind; that it fails then must not stop the process. */
export function guarded<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(noteRejection);
  return promise;
}

/** Instead of `guarded`, where only a rejection makes it worth it. */
export function noteRejection(error: unknown): void {
  if (typeof error === 'object' && error !== null) rejections.add(error);
}

/** it comes from a step, a child or an await, not from the code around them. */
export function isRejection(error: unknown): boolean {
  return typeof error === 'object' && error !== null && rejections.has(error);
}

export function ignored(): void {
  // The caller that awaits it gets the rejection.
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

/** For what no caller awaits: an error that it throws would end the process. */
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
 * A signal whose listeners may throw, now or later: Node would end the process with all that runs in it. The observer
 * is told. What `AbortSignal.any` makes of it is the caller's own.
 */
export function guardedSignal(
  signal: AbortSignal,
  run: Pick<Run, 'claimed' | 'config'>,
): AbortSignal {
  if (Object.hasOwn(signal, 'addEventListener')) return signal;
  const threw = (error: unknown): void => {
    const what = `A listener of a signal of execution ${run.claimed.execution.id} threw`;
    tell(run.config.observer, { kind: 'trouble', what, cause: causeOf(error) });
  };
  const known = new WeakMap<object, Listener>();
  const guardOf = (listener: Listener): Listener => {
    // Whatever else it is, Node says so.
    if (typeof listener !== 'function' && typeof listener !== 'object') return listener;
    if (listener === null) return listener;
    const call = (event: Event): unknown =>
      typeof listener === 'function'
        ? Reflect.apply(listener, signal, [event])
        : listener.handleEvent(event);
    // Its answer is not passed on: Node would look at a promise too.
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

// An AbortController that is made when its signal is read. Most executions end without
// that, and a controller costs more than a step.

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
