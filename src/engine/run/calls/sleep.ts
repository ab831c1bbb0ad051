// A sleep: its end is fixed when it is first asked for, and passes while nobody runs the execution.

import { isDate } from 'node:util/types';
import type { CallKey, Payload } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { InvalidInput } from '../../../support/fault.ts';
import { shown } from '../../../support/options.ts';
import type { Call, Wait } from '../call.ts';
import { after } from '../idle-detector.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

export interface SleepPlan {
  readonly key: CallKey;
  readonly name: string;
  /** For so long from now, or until then. */
  readonly span: { readonly ms: number } | { readonly until: number };
  /** Asked when its time has come. */
  readonly mayEnd?: () => boolean;
}

export const SLEEP_MS_MAX: number = 10 * 366 * 86_400_000;

export function untilOf(time: unknown): SleepPlan['span'] {
  const until = isDate(time) ? time.getTime() : Number.NaN;
  if (!Number.isNaN(until)) return { until };
  throw new InvalidInput(`ctx.sleepUntil needs a valid Date; got ${shown(time)}.`);
}

export class SleepCall implements Call {
  waits: Wait | undefined;
  readonly #run: Run;
  readonly #plan: SleepPlan;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  #cancelTimer: (() => void) | undefined;

  constructor(run: Run, plan: SleepPlan, promise: { resolve(): void; reject(error: Error): void }) {
    this.#run = run;
    this.#plan = plan;
    this.#resolve = promise.resolve;
    this.#reject = promise.reject;
  }

  get key(): CallKey {
    return this.#plan.key;
  }

  start(opening: Opening | undefined): void {
    if (opening?.dueAt !== undefined) {
      this.#waitUntil(opening.dueAt);
      return;
    }
    const { key, name, span } = this.#plan;
    const due = 'until' in span ? span.until : this.#run.storeNow() + span.ms;
    this.#waitUntil(due as Instant);
    // Goes with the parking; when the execution stays here, as soon as it is at rest.
    const body: CallBody = { key, ...span };
    this.#run.journal.append({
      event: { kind: 'timer-set', name, body: JSON.stringify(body) as Payload },
      stored: () => undefined,
    });
  }

  settle(_settlement: Settlement): void {
    this.#cancelTimer?.();
    this.#resolve();
  }

  reject(error: Error): void {
    this.#cancelTimer?.();
    this.#reject(error);
  }

  leave(): void {
    this.#cancelTimer?.();
  }

  #waitUntil(dueAt: Instant): void {
    if (this.#run.isOver) return;
    this.waits = { dueAt };
    const delayMs = Math.max(0, dueAt - this.#run.storeNow());
    this.#cancelTimer = after(this.#run, delayMs, () => this.#fire(dueAt));
    this.#run.rest();
  }

  #fire(dueAt: Instant): void {
    if (this.#run.isOver || this.#run.cancelled !== undefined) return;
    // A timer of the process may be early, or cut short when the wait is very long.
    if (dueAt > this.#run.storeNow()) {
      this.#waitUntil(dueAt);
      return;
    }
    const { key, name, mayEnd } = this.#plan;
    if (mayEnd?.() === false) return;
    this.waits = undefined;
    const others = this.#run.under(key);
    const body: CallBody = { key, ...(others === undefined ? {} : { with: others }) };
    this.#run.journal.record({
      event: { kind: 'timer-fired', name, body: JSON.stringify(body) as Payload },
      stored: (at) => this.#run.settle({ kind: 'timer-fired', body, at, seq: 0 }),
    });
  }
}
