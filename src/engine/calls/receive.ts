// A signal: a named message from outside, kept until the code asks for it.

import type { CallKey } from '../../execution/names.ts';
import type { Call, Wait } from '../call.ts';
import type { Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

export class ReceiveCall<Value> implements Call {
  waits: Wait | undefined;
  readonly key: CallKey;
  readonly #run: Run;
  readonly #name: string;
  readonly #resolve: (value: Value) => void;
  readonly #reject: (error: Error) => void;

  constructor(
    run: Run,
    plan: { readonly key: CallKey; readonly name: string },
    promise: { resolve(value: Value): void; reject(error: Error): void },
  ) {
    this.#run = run;
    this.key = plan.key;
    this.#name = plan.name;
    this.#resolve = promise.resolve;
    this.#reject = promise.reject;
  }

  start(_opening: Opening | undefined): void {
    this.waits = {};
    this.#run.inbox.receive(this.#name, this.key);
    this.#run.rest();
  }

  settle(settlement: Settlement): void | Promise<void> {
    const value = this.#run.payloads.decodeEnvelope(settlement.body.out ?? {});
    if (value instanceof Promise) return value.then(this.#resolve, this.#reject);
    this.#resolve(value as Value);
  }

  reject(error: Error): void {
    this.#reject(error);
  }
}
