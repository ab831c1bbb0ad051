// A step whose writes commit together with its record. A failure writes nothing and fails the step
// for good. If the store was unavailable, the journal tries again, because it can find out whether
// the first try committed.

import type { CallKey, Payload } from '../../../execution/names.ts';
import { failureOf } from '../../failures.ts';
import { PromisedCall } from '../call.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';

interface TransactionPlan<Output> {
  readonly key: CallKey;
  readonly name: string;
  readonly fn: (connection: never) => Output | Promise<Output>;
}

export class TransactionCall<Output> extends PromisedCall<TransactionPlan<Output>, Output> {
  /** Encoding replaces this value with one equal to that of a replay. */
  #output: { value: Output } | undefined;

  #startedAt = 0;

  override start(_opening: Opening | undefined): void {
    this.#startedAt = this.run.config.clock.monotonicMs();
    this.run.active(1);
    this.#transact().catch((error: unknown) => this.#failed(error));
  }

  override settle(settlement: Settlement): void | Promise<void> {
    return this.settleStep(this.plan.name, settlement);
  }

  async #transact(): Promise<void> {
    const { run } = this;
    const { key, name, fn } = this.plan;
    const outcome = await run.journal.transact<Output>({
      work: fn as (connection: unknown) => Output | Promise<Output>,
      events: (output) => [{ kind: 'step-completed', name, body: this.#body(output) }],
    });
    if (outcome === undefined || run.isOver) return;
    if (outcome.kind === 'threw') throw outcome.error;
    if (outcome.kind === 'recorded') {
      const live = this.#output ?? { value: outcome.result };
      run.settle({ kind: 'step-completed', body: { key }, at: outcome.at, seq: 0, live });
    } else {
      // An earlier try committed but its response was lost, so history has the result.
      const body = JSON.parse(outcome.event.body ?? '{}') as CallBody;
      run.settle({ kind: 'step-completed', body, at: outcome.event.at, seq: outcome.event.seq });
    }
    run.active(-1);
  }

  /**
   * Runs inside the user's transaction and cannot wait, so the output must fit into the row itself.
   */
  #body(output: Output): Payload {
    const { run } = this;
    const { key, name } = this.plan;
    this.#output = { value: output };
    const place = { ...run.placeOfCall(key), live: this.#output };
    const payload = run.payloads.encodeInline(`The output of "${name}"`, output, place);
    const { startedAt, tookMs } = run.timing(this.#startedAt);
    return `{"key":${JSON.stringify(key)},"out":${payload},"startedAt":${startedAt},"tookMs":${tookMs}}` as Payload;
  }

  #failed(error: unknown): void {
    if (!this.isWanted) return;
    const { key, name } = this.plan;
    const timing = this.run.timing(this.#startedAt);
    const body: CallBody = { key, failure: failureOf(error, key), ...timing };
    this.recordEnd({ event: { kind: 'step-failed', name }, body });
  }
}
