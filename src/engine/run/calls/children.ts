// Waiting for children. How they ended is in the parent's history before the code hears of it; a wait
// for many wakes the parent once, when the last has ended.

import type { CallKey, ExecutionId } from '../../../execution/names.ts';
import type { ChildOutcome } from '../../context.ts';
import { OUTPUT } from '../../values/place.ts';
import type { Call, Wait } from '../call.ts';
import type { Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';
import { childCall } from './spawn.ts';

export class ChildrenCall<Output> implements Call {
  readonly key: CallKey;
  readonly #run: Run;
  readonly #spawned: { readonly key: CallKey; readonly ids: readonly ExecutionId[] };
  readonly #resolve: (outcomes: readonly ChildOutcome<Output>[]) => void;
  readonly #reject: (error: Error) => void;
  readonly #stopListening: () => void;
  readonly #missing: Set<CallKey>;

  constructor(
    run: Run,
    wait: {
      readonly key: CallKey;
      readonly spawned: { readonly key: CallKey; readonly ids: readonly ExecutionId[] };
    },
    promise: {
      resolve(outcomes: readonly ChildOutcome<Output>[]): void;
      reject(error: Error): void;
    },
  ) {
    this.key = wait.key;
    this.#run = run;
    this.#spawned = wait.spawned;
    this.#resolve = promise.resolve;
    this.#reject = promise.reject;
    this.#missing = new Set(wait.spawned.ids.map((_, index) => childCall(wait.spawned.key, index)));
    this.#stopListening = run.inbox.onEnded((call) => {
      if (this.#missing.delete(call)) this.#goOnWhenComplete();
    });
  }

  /** It is always at rest: what it waits for happens elsewhere. */
  get waits(): Wait {
    return { children: this.#missing.size };
  }

  /** Whether it can go on follows from what was delivered, in a replay too, not from a record of its own. */
  look(): void {
    for (const call of this.#missing) {
      if (this.#run.inbox.outcomeOf(call) !== undefined) this.#missing.delete(call);
    }
    this.#goOnWhenComplete();
  }

  start(_opening: Opening | undefined): void {
    this.#run.rest();
  }

  settle(_settlement: Settlement): void {
    // Never recorded under a key of its own.
  }

  reject(error: Error): void {
    this.#stopListening();
    this.#reject(error);
  }

  #goOnWhenComplete(): void {
    if (this.#missing.size > 0 || !this.#run.calls.delete(this.key)) return;
    this.#stopListening();
    const { key, ids } = this.#spawned;
    const outcomes = ids.map((id, index) =>
      this.#outcome(id, this.#run.inbox.outcomeOf(childCall(key, index))),
    );
    this.#run.settling.deliverAfter(Promise.all(outcomes).then(this.#resolve, this.#reject));
  }

  async #outcome(
    id: ExecutionId,
    settlement: Settlement | undefined,
  ): Promise<ChildOutcome<Output>> {
    const { status = 'failed', out, failure } = settlement?.body ?? {};
    if (status !== 'completed')
      return { status, id, ...(failure === undefined ? {} : { failure }) };
    const output = (await this.#run.payloads.decodeEnvelope(out ?? {}, {
      position: OUTPUT,
    })) as Output;
    return { status, id, output };
  }
}
