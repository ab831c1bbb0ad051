// A step whose writes and whose record commit together. A failure writes nothing and fails the step for
// good, unless the store was away: then it is tried again, since it is known, or can be found out,
// whether it was done.

import type { Failure } from '../../../execution/failure.ts';
import type { CallKey, Payload } from '../../../execution/names.ts';
import { failureOf, StepFailed } from '../../failures.ts';
import type { Call } from '../call.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

export interface TransactionPlan<Output> {
  readonly key: CallKey;
  readonly name: string;
  readonly fn: (connection: never) => Output | Promise<Output>;
}

export class TransactionCall<Output> implements Call {
  readonly #run: Run;
  readonly #plan: TransactionPlan<Output>;
  readonly #resolve: (output: Output) => void;
  readonly #reject: (error: Error) => void;
  /** What the code gets: encoding makes it what a replay will give. */
  #output: { value: Output } | undefined;

  constructor(
    run: Run,
    plan: TransactionPlan<Output>,
    promise: { resolve(output: Output): void; reject(error: Error): void },
  ) {
    this.#run = run;
    this.#plan = plan;
    this.#resolve = promise.resolve;
    this.#reject = promise.reject;
  }

  get key(): CallKey {
    return this.#plan.key;
  }

  start(_opening: Opening | undefined): void {
    this.#run.active(1);
    this.#transact().catch((error: unknown) => this.#failed(error));
  }

  settle(settlement: Settlement): void | Promise<void> {
    if (settlement.kind === 'step-failed') {
      this.#reject(new StepFailed(this.#plan.name, settlement.body.failure as Failure));
      return;
    }
    if (settlement.live !== undefined) {
      this.#resolve(settlement.live.value as Output);
      return;
    }
    const { payloads } = this.#run;
    const place = this.#run.expectedCall(this.key);
    const value = payloads.decodeEnvelope(settlement.body.out ?? {}, place);
    if (value instanceof Promise) return value.then(this.#resolve, this.#reject);
    this.#resolve(value as Output);
  }

  reject(error: Error): void {
    this.#reject(error);
  }

  async #transact(): Promise<void> {
    const run = this.#run;
    const { key, name, fn } = this.#plan;
    const answer = await run.journal.transact<Output>({
      work: fn as (connection: unknown) => Output | Promise<Output>,
      events: (output) => [{ kind: 'step-completed', name, body: this.#body(output) }],
    });
    if (answer === undefined || run.isOver) return;
    if (answer.kind === 'threw') throw answer.error;
    if (answer.kind === 'recorded') {
      const live = this.#output ?? { value: answer.result };
      run.settle({ kind: 'step-completed', body: { key }, at: answer.at, seq: 0, live });
    } else {
      // A try whose answer was lost had been done: history has its result.
      const body = JSON.parse(answer.event.body ?? '{}') as CallBody;
      run.settle({ kind: 'step-completed', body, at: answer.event.at, seq: answer.event.seq });
    }
    run.active(-1);
  }

  /** Inside the user's transaction everything is synchronous, so it must fit the row as it is. */
  #body(output: Output): Payload {
    const { key, name } = this.#plan;
    this.#output = { value: output };
    const { payloads } = this.#run;
    const place = { ...this.#run.placeOfCall(key), live: this.#output };
    const payload = payloads.encodeInline(`The output of "${name}"`, output, place);
    return `{"key":${JSON.stringify(key)},"out":${payload}}` as Payload;
  }

  #failed(error: unknown): void {
    const run = this.#run;
    if (run.isOver || run.cancelled !== undefined) return;
    const { key, name } = this.#plan;
    const body: CallBody = { key, failure: failureOf(error, key) };
    run.journal.record({
      event: { kind: 'step-failed', name, body: JSON.stringify(body) as Payload },
      stored: (at) => {
        run.settle({ kind: 'step-failed', body, at, seq: 0 });
        run.active(-1);
      },
    });
  }
}
