// Searches for an order of concurrent calls that explains every reply (ADR 0050).
//
// The search reads the calls and replies of a history in the order of time. It keeps every
// explanation of the replies so far: a state of the model, and the pending calls that have taken
// effect in it. A call takes effect just in time, when a reply needs it. So the number of
// explanations depends on the pending calls, and not on the length of the history.

import type { RecordedOperation, SequentialModel } from './history.ts';

/** The calls of an explanation in their order, the last one first. */
interface Linearized<Operation> {
  readonly operation: Operation;
  readonly before: Linearized<Operation> | undefined;
}

interface Explanation<State, Operation> {
  readonly state: State;
  readonly key: string;
  /** Pending calls that have taken effect, as bits: those with a reply, and those without. */
  readonly replied: bigint;
  readonly unknown: bigint;
  readonly last: Linearized<Operation> | undefined;
  readonly length: number;
}

interface Pending<Operation> {
  readonly operation: Operation;
  readonly bit: bigint;
}

export interface SearchLimits {
  /** The largest number of explanations to compare for one reply. */
  readonly explanations: number;
  /** The number of calls without a reply that may take effect between two calls with one. */
  readonly lostInARow: number;
  /** A call without a reply takes effect within this time, or never. */
  readonly lostMs: number;
}

/** The longest explanation up to a reply that has none. */
export interface Unexplained<State, Operation> {
  readonly order: readonly Operation[];
  readonly state: State;
}

export class LinearizationSearch<
  State,
  Input,
  Output,
  Operation extends RecordedOperation<Input, Output> = RecordedOperation<Input, Output>,
> {
  readonly #model: SequentialModel<State, Input, Output>;
  readonly #limits: SearchLimits;
  /** Pending calls with a reply to come, and those without one. */
  readonly #pending: Map<Operation, Pending<Operation>> = new Map();
  readonly #lost: Map<Operation, Pending<Operation>> = new Map();
  #used = 0n;
  /** Calls take effect after this time: the latest call whose reply is explained. */
  #now = Number.NEGATIVE_INFINITY;
  #explanations: readonly Explanation<State, Operation>[];

  constructor(model: SequentialModel<State, Input, Output>, limits: SearchLimits) {
    const { initial } = model;
    const key = model.keyOf(initial);
    this.#model = model;
    this.#limits = limits;
    this.#explanations = [
      { state: initial, key, replied: 0n, unknown: 0n, last: undefined, length: 0 },
    ];
  }

  call(operation: Operation): void {
    // Without a reply and without an effect, it explains nothing.
    if (operation.reply === undefined && this.#changesNothing(operation)) return;
    const bit = ~this.#used & (this.#used + 1n);
    this.#used |= bit;
    const calls = operation.reply === undefined ? this.#lost : this.#pending;
    calls.set(operation, { operation, bit });
  }

  /** Keeps the explanations of this reply. Returns the longest one without it, if there is none. */
  reply(operation: Operation): Unexplained<State, Operation> | 'too-many' | undefined {
    this.#forgetLost(({ operation: { calledAt } }) => calledAt < this.#now - this.#limits.lostMs);
    this.#now = Math.max(this.#now, operation.calledAt);
    const before = operation.reply?.at ?? Number.POSITIVE_INFINITY;
    const awaited = this.#pending.get(operation)?.bit ?? 0n;
    const seen = new Explanations<State, Operation>();
    const explained = new Explanations<State, Operation>();
    let round = this.#explanations.filter((each) => seen.add(each));
    let longest = round[0];
    while (round.length > 0) {
      const next: Explanation<State, Operation>[] = [];
      for (const each of round) {
        if (longest === undefined || each.length > longest.length) longest = each;
        if ((each.replied & awaited) !== 0n) {
          explained.add({ ...each, replied: each.replied & ~awaited });
          continue;
        }
        for (const after of this.#after(each, before)) if (seen.add(after)) next.push(after);
      }
      if (seen.size > this.#limits.explanations) return 'too-many';
      round = next;
    }
    if (explained.size === 0 && longest !== undefined) {
      return { order: orderOf(longest.last), state: longest.state };
    }
    this.#forget(operation, awaited);
    this.#explanations = [...explained];
    this.#forgetWhatAllHave();
    return undefined;
  }

  /** The explanations with one more reply explained, where each takes effect before this time. */
  #after(
    from: Explanation<State, Operation>,
    before: number,
  ): readonly Explanation<State, Operation>[] {
    const replied = [...this.#pending.values()].filter(({ bit }) => (from.replied & bit) === 0n);
    for (const each of replied) {
      const after = this.#atOnce(from, each, before);
      if (after.length > 0) return after;
    }
    return [
      ...replied.flatMap((each) => this.#with(from, each, before)),
      ...this.#afterLost(from, before, replied),
    ];
  }

  /** The explanations with a call that may take effect as soon as it can: no other one depends on it. */
  #atOnce(
    from: Explanation<State, Operation>,
    pending: Pending<Operation>,
    before: number,
  ): readonly Explanation<State, Operation>[] {
    const { operation } = pending;
    if (this.#changesNothing(operation)) {
      return this.#with(from, pending, before).filter(({ key }) => key === from.key);
    }
    const isAlone = this.#model.isUnobserved?.(from.state, operation) === true;
    return isAlone ? this.#with(from, pending, before).slice(0, 1) : [];
  }

  /**
   * Calls without a reply may take effect just before one with a reply, if it matters that they come
   * first. Otherwise they may as well take effect later.
   */
  #afterLost(
    first: Explanation<State, Operation>,
    before: number,
    replied: readonly Pending<Operation>[],
  ): readonly Explanation<State, Operation>[] {
    const reached: Explanation<State, Operation>[] = [];
    const seen = new Explanations<State, Operation>();
    let round = [first];
    for (let calls = 1; calls <= this.#limits.lostInARow && round.length > 0; calls += 1) {
      const next: Explanation<State, Operation>[] = [];
      for (const from of round) {
        for (const each of this.#lost.values()) {
          if ((from.unknown & each.bit) !== 0n) continue;
          for (const after of this.#with(from, each, before)) {
            if (after.key === from.key) continue;
            reached.push(...this.#differing(from, after, { lost: each, replied, before }));
            if (calls < this.#limits.lostInARow && seen.add(after)) next.push(after);
          }
        }
      }
      if (seen.size > this.#limits.explanations) return reached;
      round = next;
    }
    return reached;
  }

  /** The explanations of one more reply that the lost call must come before. */
  #differing(
    from: Explanation<State, Operation>,
    after: Explanation<State, Operation>,
    {
      lost,
      replied,
      before,
    }: {
      readonly lost: Pending<Operation>;
      readonly replied: readonly Pending<Operation>[];
      readonly before: number;
    },
  ): readonly Explanation<State, Operation>[] {
    return replied.flatMap((next) => {
      const reached = this.#with(after, next, before);
      if (reached.length === 0) return [];
      const without = this.#with(from, next, before);
      const later = without.flatMap((each) => this.#with(each, lost, before));
      const keys = new Set([...without, ...later].map(({ key }) => key));
      return reached.filter(({ key }) => !keys.has(key));
    });
  }

  /** The explanations with one more call. */
  #with(
    from: Explanation<State, Operation>,
    { operation, bit }: Pending<Operation>,
    before: number,
  ): readonly Explanation<State, Operation>[] {
    const isLost = operation.reply === undefined;
    return this.#model.step(from.state, operation, before).map((state) => ({
      state,
      key: this.#model.keyOf(state),
      replied: isLost ? from.replied : from.replied | bit,
      unknown: isLost ? from.unknown | bit : from.unknown,
      last: { operation, before: from.last },
      length: from.length + 1,
    }));
  }

  #changesNothing(operation: Operation): boolean {
    return this.#model.changesNothing?.(operation) === true;
  }

  #forget(operation: Operation, bit: bigint): void {
    this.#pending.delete(operation);
    this.#lost.delete(operation);
    this.#used &= ~bit;
  }

  /** A call without a reply that has taken effect in every explanation is no longer pending. */
  #forgetWhatAllHave(): void {
    const common = this.#explanations.reduce((all, { unknown }) => all & unknown, this.#used);
    this.#forgetLost(({ bit }) => (common & bit) !== 0n);
  }

  #forgetLost(isOver: (lost: Pending<Operation>) => boolean): void {
    const over = [...this.#lost.values()].filter(isOver);
    if (over.length === 0) return;
    const bits = over.reduce((all, { bit }) => all | bit, 0n);
    for (const { operation, bit } of over) this.#forget(operation, bit);
    const left = new Explanations<State, Operation>();
    for (const each of this.#explanations) left.add({ ...each, unknown: each.unknown & ~bits });
    this.#explanations = [...left];
  }
}

/**
 * Explanations, without those that another one makes superfluous: it has the same state, and fewer
 * calls without a reply have taken effect in it, so it can do everything that the other can.
 */
class Explanations<State, Operation> {
  readonly #byState: Map<string, Explanation<State, Operation>[]> = new Map();
  size = 0;

  /** Returns false if it is superfluous. */
  add(added: Explanation<State, Operation>): boolean {
    const key = `${added.replied} ${added.key}`;
    const others = this.#byState.get(key);
    if (others === undefined) {
      this.#byState.set(key, [added]);
      this.size += 1;
      return true;
    }
    if (others.some(({ unknown }) => (unknown & added.unknown) === unknown)) return false;
    const kept = others.filter(({ unknown }) => (unknown & added.unknown) !== added.unknown);
    this.size += kept.length + 1 - others.length;
    this.#byState.set(key, [...kept, added]);
    return true;
  }

  *[Symbol.iterator](): Iterator<Explanation<State, Operation>> {
    for (const each of this.#byState.values()) yield* each;
  }
}

function orderOf<Operation>(last: Linearized<Operation> | undefined): readonly Operation[] {
  const order: Operation[] = [];
  for (let each = last; each !== undefined; each = each.before) order.push(each.operation);
  return order.reverse();
}
