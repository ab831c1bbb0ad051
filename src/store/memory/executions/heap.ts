// What comes first, by time and then by id. Entries are never taken out of the middle: whoever reads one
// checks that it still holds and drops it otherwise.

import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';

export interface Due {
  readonly at: Instant;
  readonly id: ExecutionId;
}

export class Heap {
  readonly #items: Due[] = [];

  get size(): number {
    return this.#items.length;
  }

  peek(): Due | undefined {
    return this.#items[0];
  }

  push(due: Due): void {
    let place = this.#items.push(due) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!this.#isBefore(place, above)) return;
      this.#swap(place, above);
      place = above;
    }
  }

  pop(): Due | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return first;
    this.#items[0] = last;
    this.#sink();
    return first;
  }

  #sink(): void {
    let place = 0;
    for (;;) {
      const left = place * 2 + 1;
      const right = left + 1;
      let least = place;
      if (this.#isBefore(left, least)) least = left;
      if (this.#isBefore(right, least)) least = right;
      if (least === place) return;
      this.#swap(place, least);
      place = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#items[a], this.#items[b]];
    return one !== undefined && other !== undefined && comesBefore(one, other);
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#items[a], this.#items[b]];
    if (one === undefined || other === undefined) return;
    this.#items[a] = other;
    this.#items[b] = one;
  }
}

export function comesBefore(one: Due, other: Due): boolean {
  return one.at < other.at || (one.at === other.at && one.id < other.id);
}
