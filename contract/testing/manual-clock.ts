// Time that stands still until a test moves it. The clock and the timers share one time. So a test
// of a deadline chooses the exact moment and never sleeps.

import type { Clock } from '../../src/support/clock.ts';
import { systemTimers, type Timers } from '../../src/support/timer.ts';

/**
 * An arbitrary moment far from zero, so that a test notices a store that does not read its clock.
 */
const START_MS = Date.UTC(2030, 0, 1);

interface DueTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test moves it.
 *
 * @example
 * import { openMemoryStore } from 'holdfast/store/memory';
 *
 * const clock = new ManualClock();
 * const store = openMemoryStore({ clock });
 * await clock.advance(15_000);
 */
export class ManualClock implements Clock {
  /** Timers that follow this clock. */
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

  /** Returns the wall clock in milliseconds since 1970. Starts at 2030 by default. */
  wallMs(): number {
    return this.#wallMs;
  }

  /** Returns the monotonic clock in milliseconds. Starts at 0. */
  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** The number of timers that are set. */
  get waiting(): number {
    return this.#due.size;
  }

  /**
   * Moves both clocks. Due timers fire in order, each at its time, and promises settle in between.
   */
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

  /** Moves only the wall clock, forwards or backwards. */
  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Moves only the wall clock, as a suspended machine does. No timer fires. */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }

  /** Runs everything that waits for promises and not for time. */
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
