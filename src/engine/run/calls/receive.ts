// A signal: a named message from outside, kept until the code asks for it.

import type { CallKey } from '../../../execution/names.ts';
import { readOptions, wholeNumber } from '../../../support/options.ts';
import { signalPosition } from '../../values/place.ts';
import type { Call, Wait } from '../call.ts';
import type { Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';
import { listenedTo } from './raced.ts';
import { SLEEP_MS_MAX, SleepCall } from './sleep.ts';

export interface ReceivePlan {
  readonly key: CallKey;
  readonly name: string;
  readonly timeoutMs?: number | undefined;
}

export function timeoutOf(options: unknown): number | undefined {
  const { timeoutMs } = readOptions('ctx.receive', options as { timeoutMs?: number }, [
    'timeoutMs',
  ]);
  if (timeoutMs === undefined) return undefined;
  return wholeNumber('timeoutMs', timeoutMs, { min: 0, max: SLEEP_MS_MAX });
}

export class ReceiveCall<Value> implements Call {
  readonly #run: Run;
  readonly #plan: ReceivePlan;
  readonly #resolve: (value: Value) => void;
  readonly #reject: (error: Error) => void;
  /** Its end withdraws the receive. */
  readonly #limit: SleepCall | undefined;
  #isOpen = false;
  #hasLost: (() => boolean) | undefined;

  constructor(
    run: Run,
    plan: ReceivePlan,
    promise: { resolve(value: Value): void; reject(error: Error): void },
  ) {
    this.#run = run;
    this.#plan = plan;
    this.#resolve = promise.resolve;
    this.#reject = promise.reject;
    const { key, name, timeoutMs: ms } = plan;
    if (ms === undefined) return;
    const mayEnd = (): boolean => run.inbox.withdraw(key);
    const end = { resolve: () => promise.resolve(undefined as Value), reject: promise.reject };
    this.#limit = new SleepCall(run, { key, name, span: { ms }, mayEnd }, end);
  }

  get key(): CallKey {
    return this.#plan.key;
  }

  get waits(): Wait | undefined {
    return this.#limit === undefined && this.#isOpen ? {} : this.#limit?.waits;
  }

  /** The promise that the code gets. While it has lost its races, messages are kept for others. */
  seen(promise: Promise<Value>): Promise<Value> {
    this.#hasLost = listenedTo(promise, () => {
      if (this.#isOpen) this.#run.inbox.offer();
    });
    return promise;
  }

  start(opening: Opening | undefined): void {
    const { key, name } = this.#plan;
    this.#isOpen = true;
    const hasLost = (): boolean => this.#hasLost?.() === true;
    this.#run.inbox.receive({ name, key, hasLost });
    if (this.#limit === undefined) this.#run.rest();
    else this.#limit.start(opening);
  }

  settle(settlement: Settlement): void | Promise<void> {
    this.#isOpen = false;
    if (settlement.kind === 'timer-fired') {
      this.#limit?.settle(settlement);
      return;
    }
    this.leave();
    const { name } = this.#plan;
    const value = this.#run.payloads.decodeEnvelope(settlement.body.out ?? {}, {
      position: signalPosition(name),
      isOpen: name.startsWith('holdfast.'),
    });
    if (value instanceof Promise) return value.then(this.#resolve, this.#reject);
    this.#resolve(value as Value);
  }

  reject(error: Error): void {
    this.leave();
    this.#reject(error);
  }

  leave(): void {
    this.#limit?.leave();
  }
}
