// What user code is given must not be able to stop the process by what the code does, or leaves, with it.

import { callSafely, causeOf } from '../../lease/observer.ts';
import { tell } from '../observer.ts';
import type { Run } from './run.ts';

/** What calls of `ctx` were rejected with. */
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
  // Whoever awaits it is told.
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
