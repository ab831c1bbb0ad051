// Time that stands still until a test moves it. The clock and the timers share one time. So a test
// of a deadline chooses the exact moment and never sleeps.

import type { Clock } from '../support/clock.ts';
import { systemTimers, type Timers } from '../support/timer.ts';

/**
 * An arbitrary moment far from zero, so that a test notices a store that does not read its clock.
 */
const START_MS = Date.UTC(2030, 0, 1);

interface DueTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

export class ManualClock implements Clock {
  /** Timers count monotonic time, as those of the host do: they stand still in a suspend. */
  readonly timers: Timers = {
    after: (ms, callback) => this.#after(ms, callback),
    pause: (ms, signal) => this.#pause(ms, signal),
    soon: (callback) => this.#soon(callback),
  };

  #wallMs: number;
  #monotonicMs = 0;
  #soonCount = 0;
  /** In the order of setting, which decides between timers due at the same time. */
  readonly #due: Set<DueTimer> = new Set();

  constructor(startMs: number = START_MS) {
    this.#wallMs = startMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** How many timers are set. */
  get waiting(): number {
    return this.#due.size;
  }

  /** Both clocks go on; due timers fire in order, each at its own time, and promises run between. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    await this.settle();
    for (let next = this.#nextDue(endMs); next !== undefined; next = this.#nextDue(endMs)) {
      this.#due.delete(next);
      this.#moveTo(Math.max(this.#monotonicMs, next.dueMs));
      next.callback();
      await this.settle();
    }
    this.#moveTo(endMs);
  }

  /** Somebody set the wall clock, forwards or backwards. */
  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** The machine slept: wall time passed, monotonic time did not, and no timer fired. */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }

  /** Lets everything run that waits for promises or `soon` and not for time. */
  async settle(): Promise<void> {
    do {
      await new Promise<void>((resolve) => systemTimers.soon(resolve));
    } while (this.#soonCount > 0);
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }

  #nextDue(endMs: number): DueTimer | undefined {
    let next: DueTimer | undefined;
    for (const timer of this.#due) {
      if (timer.dueMs <= endMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
    }
    return next;
  }

  #after(ms: number, callback: () => void): () => void {
    // Whole milliseconds, as stores count them, so that nothing falls due a fraction after a test
    // has looked.
    const timer: DueTimer = { dueMs: this.#monotonicMs + Math.ceil(ms), callback };
    this.#due.add(timer);
    return () => this.#due.delete(timer);
  }

  #pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const cancel = this.#after(ms, () => {
        signal?.removeEventListener('abort', wake);
        resolve();
      });
      const wake = (): void => {
        cancel();
        resolve();
      };
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  #soon(callback: () => void): void {
    this.#soonCount += 1;
    systemTimers.soon(() => {
      this.#soonCount -= 1;
      callback();
    });
  }
}
