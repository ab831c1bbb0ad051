// How late the event loop is. A timer that should fire every `everyMs` fires late by as long as the
// loop was busy, the process stopped or the machine paused; the wall clock running ahead of the
// monotonic one shows a suspend, in which no timer is late. Both are kept as the most since last
// asked, so that one look per operation misses nothing.

import type { Clock } from './clock.ts';
import type { Timers } from './timer.ts';

interface LoopLag {
  readonly lagMs: number;
  readonly suspendedMs: number;
}

/** Wall clocks are slewed a little all the time; less than this is no suspend. */
const SUSPEND_MS_MIN = 50;

export class EventLoopLag {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly everyMs: number;
  #lagMs = 0;
  #suspendedMs = 0;
  #cancel: (() => void) | undefined;
  #tickAt = { monotonicMs: 0, wallMs: 0 };

  constructor(clock: Clock, timers: Timers, everyMs: number) {
    this.#clock = clock;
    this.#timers = timers;
    this.everyMs = everyMs;
  }

  /** Starts again harmlessly. Whoever starts it stops it: its timer keeps the process alive. */
  start(): void {
    if (this.#cancel === undefined) this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** The most since the last call, the wait that is going on included. */
  take(): LoopLag {
    if (this.#cancel !== undefined) this.#look();
    const taken = { lagMs: this.#lagMs, suspendedMs: this.#suspendedMs };
    this.#lagMs = 0;
    this.#suspendedMs = 0;
    // Told once: the wait that is going on must not show the same lag again.
    if (this.#cancel !== undefined && taken.lagMs + taken.suspendedMs > 0) {
      this.#cancel();
      this.#arm();
    }
    return taken;
  }

  #arm(): void {
    this.#tickAt = { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
    this.#cancel = this.#timers.after(this.everyMs, () => {
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    const monotonicMs = this.#clock.monotonicMs() - this.#tickAt.monotonicMs;
    const wallMs = this.#clock.wallMs() - this.#tickAt.wallMs;
    this.#lagMs = Math.max(this.#lagMs, monotonicMs - this.everyMs);
    const suspendedMs = wallMs - monotonicMs;
    if (suspendedMs >= SUSPEND_MS_MIN) {
      this.#suspendedMs = Math.max(this.#suspendedMs, suspendedMs);
    }
  }
}
