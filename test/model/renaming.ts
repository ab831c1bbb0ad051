// Two stores issue different fences for the same grants, since one may skip numbers. They must
// issue them in the same order. The renaming grows grant by grant and may only rise.

import { type Fence, toFence } from '../../src/lease/fence.ts';

/** Properties of answers, records and events that hold a fence. */
const HOLDS_FENCE: ReadonlySet<string> = new Set(['fence', 'newest', 'presented']);

export class Renaming {
  readonly #toStore: Map<number, number>;
  readonly #toModel: Map<number, number>;
  #last: { readonly model: number; readonly store: number };

  constructor(from?: Renaming) {
    this.#toStore = new Map(from === undefined ? [] : from.#toStore);
    this.#toModel = new Map(from === undefined ? [] : from.#toModel);
    this.#last = from === undefined ? { model: 0, store: 0 } : from.#last;
  }

  /** The reason why these cannot be fences of one grant. Undefined if they can. */
  pair(model: Fence, store: Fence): string | undefined {
    const last = this.#last;
    if (model <= last.model || store <= last.store) {
      return `T-3: fences must rise: after ${last.store} came ${store} (model: ${last.model}, ${model})`;
    }
    this.#last = { model, store };
    this.#toStore.set(model, store);
    this.#toModel.set(store, model);
    return undefined;
  }

  /** Made-up fences stand for themselves. */
  readonly toModel = (fence: Fence): Fence => toFence(this.#toModel.get(fence) ?? fence);

  /** The model's answer, in the fences of the store. */
  answer(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.answer(each));
    if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        HOLDS_FENCE.has(name) && typeof each === 'number'
          ? (this.#toStore.get(each) ?? each)
          : this.answer(each),
      ]),
    );
  }
}
