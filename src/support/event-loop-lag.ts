// Measures the lag of the event loop. A timer that should fire every `everyMs` fires late while the
// loop is busy, the process is stopped or the machine is paused. During a suspend no timer is late,
// but the wall clock runs ahead of the monotonic one. Both maxima are kept until they are read, so
// one look per operation misses nothing.

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

  /**
   * Starting again is harmless. The starter must stop it, because its timer keeps the process
   * alive.
   */
  start(): void {
    if (this.#cancel === undefined) this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** The maxima since the last call, including the current wait. */
  take(): LoopLag {
    if (this.#cancel !== undefined) this.#sample();
    const taken = { lagMs: this.#lagMs, suspendedMs: this.#suspendedMs };
    this.#lagMs = 0;
    this.#suspendedMs = 0;
    // Restart the timer, so that the current wait does not report the same lag again.
    if (this.#cancel !== undefined && taken.lagMs + taken.suspendedMs > 0) {
      this.#cancel();
      this.#arm();
    }
    return taken;
  }

  #arm(): void {
    this.#tickAt = { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
    this.#cancel = this.#timers.after(this.everyMs, () => {
      this.#sample();
      this.#arm();
    });
  }

  #sample(): void {
    const monotonicMs = this.#clock.monotonicMs() - this.#tickAt.monotonicMs;
    const wallMs = this.#clock.wallMs() - this.#tickAt.wallMs;
    this.#lagMs = Math.max(this.#lagMs, monotonicMs - this.everyMs);
    const suspendedMs = wallMs - monotonicMs;
    if (suspendedMs >= SUSPEND_MS_MIN) {
      this.#suspendedMs = Math.max(this.#suspendedMs, suspendedMs);
    }
  }
}
