// Waits for children. Their outcomes enter the parent's history before the code gets them. A wait
// for many children wakes the parent once, when the last one has ended.

import type { CallKey, ExecutionId } from '../../../execution/names.ts';
import type { ChildOutcome } from '../../context.ts';
import { OUTPUT } from '../../values/place.ts';
import { PromisedCall } from '../call.ts';
import type { Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

/** The children that one call spawned. */
export interface Spawned {
  readonly key: CallKey;
  readonly ids: readonly ExecutionId[];
}

interface ChildrenPlan {
  readonly key: CallKey;
  readonly spawned: Spawned;
}

/** Children run in claims of their own, so this call never keeps the execution in this process. */
export class ChildrenCall<Output> extends PromisedCall<
  ChildrenPlan,
  readonly ChildOutcome<Output>[]
> {
  readonly #missing: Set<CallKey>;

  constructor(
    run: Run,
    plan: ChildrenPlan,
    promised: PromiseWithResolvers<readonly ChildOutcome<Output>[]>,
  ) {
    super(run, plan, promised);
    const { key, ids } = plan.spawned;
    this.#missing = new Set(ids.map((_, index) => childCall(key, index)));
    this.stopWaiting = run.inbox.onEnded((call) => {
      if (this.#missing.delete(call)) this.#goOnWhenComplete();
    });
  }

  /**
   * The delivered outcomes decide whether the call can settle, in a replay too. It has no record of
   * its own.
   */
  check(): void {
    for (const call of this.#missing) {
      if (this.run.inbox.outcomeOf(call) !== undefined) this.#missing.delete(call);
    }
    this.#goOnWhenComplete();
  }

  override start(_opening: Opening | undefined): void {
    this.run.rest();
  }

  override settle(_settlement: Settlement): void {
    // History has no event under this call's own key.
  }

  #goOnWhenComplete(): void {
    const { run } = this;
    this.waits = { children: this.#missing.size };
    if (this.#missing.size > 0 || !run.calls.delete(this.key)) return;
    this.leave();
    const { key, ids } = this.plan.spawned;
    const outcomes = ids.map((id, index) =>
      this.#outcome(id, run.inbox.outcomeOf(childCall(key, index))),
    );
    run.settling.deliverAfter(
      Promise.all(outcomes).then(this.promised.resolve, (error) => this.reject(error)),
    );
  }

  async #outcome(
    id: ExecutionId,
    settlement: Settlement | undefined,
  ): Promise<ChildOutcome<Output>> {
    const { status = 'failed', out, failure } = settlement?.body ?? {};
    if (status !== 'completed')
      return { status, id, ...(failure === undefined ? {} : { failure }) };
    const output = await this.run.payloads.decodeEnvelope(out ?? {}, { position: OUTPUT });
    return { status, id, output: output as Output };
  }
}

/** The name of the child at this index in its parent's inbox. */
export function childCall(key: CallKey, index: number): CallKey {
  return `${key}[${index}]` as CallKey;
}
