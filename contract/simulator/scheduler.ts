// Virtual time. Events run one at a time, in the order of their times; the seed orders events of the
// same time. After each event, everything that waits only for promises runs, before the next event.
// No real timer and no real I/O takes part, so a seed always gives the same run.

import type { Random } from '../../src/support/random.ts';

/** Receives events: a process, or undefined for the world. */
export interface Receiver {
  /** `running` gets its events, `paused` gets them later, `dead` never. */
  readonly state: 'running' | 'paused' | 'dead';
  /** Keeps an event that fell due during a pause. */
  hold(run: () => void): void;
}

interface ScheduledEvent {
  readonly atMs: number;
  /** Orders events of the same time. */
  readonly lot: number;
  readonly receiver: Receiver | undefined;
  run: (() => void) | undefined;
}

export class Scheduler {
  /** Milliseconds since the start of the run. */
  nowMs = 0;
  /** The number of events that have run. */
  events = 0;
  readonly #heap: ScheduledEvent[] = [];
  readonly #random: Random;
  readonly #afterEach: () => void;

  /** `afterEach` runs after each event, when nothing but time can change anything. */
  constructor(random: Random, afterEach: () => void) {
    this.#random = random;
    this.#afterEach = afterEach;
  }

  /** Returns the function that cancels the event. */
  after(ms: number, receiver: Receiver | undefined, run: () => void): () => void {
    const atMs = this.nowMs + Math.max(0, ms);
    const event: ScheduledEvent = { atMs, lot: this.#random.next(), receiver, run };
    this.#push(event);
    return () => {
      event.run = undefined;
    };
  }

  /** Runs events until the time has come. */
  async runUntil(endMs: number): Promise<void> {
    await settle();
    for (;;) {
      const event = this.#heap[0];
      if (event === undefined || event.atMs > endMs) break;
      this.#pop();
      if (event.run === undefined) continue;
      this.nowMs = Math.max(this.nowMs, event.atMs);
      if (deliver(event.receiver, event.run)) {
        this.events += 1;
        await settle();
        this.#afterEach();
      }
    }
    this.nowMs = Math.max(this.nowMs, endMs);
  }

  #push(event: ScheduledEvent): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, event)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      const least = right !== undefined && isBefore(right, left) ? right : left;
      if (least === right) child += 1;
      if (isBefore(last, least)) break;
      heap[at] = least;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: ScheduledEvent, b: ScheduledEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.lot < b.lot);
}

/** Returns whether the event ran. */
function deliver(receiver: Receiver | undefined, run: () => void): boolean {
  if (receiver?.state === 'dead') return false;
  if (receiver?.state === 'paused') {
    receiver.hold(run);
    return false;
  }
  run();
  return true;
}

/**
 * Resolves when all promises that can settle have settled: Node calls back when no promise job is left.
 * A turn of the event loop would do the same, and ask the system for I/O that no run has.
 */
function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
