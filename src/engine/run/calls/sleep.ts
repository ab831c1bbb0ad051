// A sleep. The first call fixes its end, and the time passes while no worker holds the execution.

import { isDate } from 'node:util/types';
import type { CallKey, Payload } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { InvalidInput } from '../../../support/fault.ts';
import { shown } from '../../../support/options.ts';
import { PromisedCall } from '../call.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';

export interface SleepPlan {
  readonly key: CallKey;
  readonly name: string;
  /** A duration from now, or a time. Without it, the sleep does not end by itself. */
  readonly span: { readonly ms: number } | { readonly until: number } | undefined;
}

export function untilOf(time: unknown): SleepPlan['span'] {
  const until = isDate(time) ? time.getTime() : Number.NaN;
  if (!Number.isNaN(until)) return { until };
  throw new InvalidInput(`ctx.sleepUntil: time must be a valid Date; got ${shown(time)}.`);
}

export class SleepCall<Result = void, Plan extends SleepPlan = SleepPlan> extends PromisedCall<
  Plan,
  Result
> {
  override start(opening: Opening | undefined): void {
    const { run } = this;
    const { key, name, span } = this.plan;
    if (span === undefined) {
      this.waits = {};
      run.rest();
      return;
    }
    const due = 'until' in span ? span.until : run.storeNow() + span.ms;
    this.waitUntil(opening?.dueAt ?? (due as Instant), () => this.#end());
    if (opening?.dueAt !== undefined) return;
    // The journal writes this with the parking or, if the execution stays, once it is at rest.
    const body: CallBody = { key, ...span };
    run.journal.append({
      event: { kind: 'timer-set', name, body: JSON.stringify(body) as Payload },
      stored: () => undefined,
    });
  }

  override settle(_settlement: Settlement): void | Promise<void> {
    this.leave();
    this.promised.resolve(undefined as Result);
  }

  /** A subclass can veto the end here when the time has come. */
  protected mayEnd(): boolean {
    return true;
  }

  #end(): void {
    if (!this.isWanted || !this.mayEnd()) return;
    const { run } = this;
    const { key, name } = this.plan;
    this.waits = undefined;
    const body: CallBody = { key, ...run.under(key) };
    run.journal.record({
      event: { kind: 'timer-fired', name, body: JSON.stringify(body) as Payload },
      stored: (at) => run.settle({ kind: 'timer-fired', body, at, seq: 0 }),
    });
  }
}
